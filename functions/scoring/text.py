"""The text that somebody wants scored, checked and made ready."""

from __future__ import annotations

import functools
from typing import Any

from isolane.characters import clean
from isolane.errors import InvalidRequest, TooLarge
from isolane.shapes import Shape
from web import document

LONGEST_TEXT = 100_000
"""Characters, after cleaning."""


def text_of(body: dict[str, Any]) -> str:
    """The cleaned text of a request. Raises InvalidRequest as the API's document says, or TooLarge `text_too_long`."""
    _request().check(body)
    text = clean(body["text"])
    if not text:  # what the document's pattern cannot say: planes beyond the first
        raise InvalidRequest("A text to score is needed.", code="text_required")
    if len(text) > LONGEST_TEXT:
        raise TooLarge(f"A text has at most {LONGEST_TEXT:,} characters.", code="text_too_long")
    return text


@functools.cache
def _request() -> Shape:
    return Shape("ScoreRequest", schemas=document.schemas())
