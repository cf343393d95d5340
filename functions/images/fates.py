"""Why there is no picture, in our words: what a provider says of it stays here."""

from __future__ import annotations

from images.provider import NotMade
from isolane.provider_words import says_filtered
from isolane.task import Problem

REFUSED = Problem(code="refused", message="The provider declined to make a picture of this prompt.")
FAILED = Problem(code="generation_failed", message="The provider could not make the picture.")
CALLED_OFF = Problem(code="generation_canceled", message="The provider called the generation off.")
NO_OUTPUT = Problem(code="no_output", message="The provider says that it has finished, and has no picture to show.")


def failed(sentence: str) -> NotMade:
    """A generation that failed, by what its provider says of it: of itself, or because a filter would not have it."""
    return NotMade(problem=REFUSED if says_filtered(sentence) else FAILED)
