"""The text that somebody wants scored, checked and made ready."""

from __future__ import annotations

import functools
from typing import Any

from isolane.characters import required
from isolane.shapes import Shape
from web import document

LONGEST_TEXT = 100_000
"""Characters, after cleaning."""


def text_of(body: dict[str, Any]) -> str:
    """The cleaned text of a request. Raises InvalidRequest as the API's document says, or TooLarge `text_too_long`."""
    _request().check(body)
    return required(body["text"], needed="A text to score", code="text_required", longest=LONGEST_TEXT)


@functools.cache
def _request() -> Shape:
    return Shape("ScoreRequest", schemas=document.schemas())
