"""The text that somebody wants scored, made ready: one form for what reads the same, and no control characters."""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

from isolane.characters import nfc
from isolane.errors import TooLarge
from isolane.shapes import Shape
from web import document

LONGEST_TEXT = 100_000
"""Characters, after cleaning."""

_KEPT_CONTROLS = "\n\t"


def clean(text: str) -> str:
    """The text in NFC, line ends as `\\n`, without control characters, trimmed."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in lines if c in _KEPT_CONTROLS or unicodedata.category(c) != "Cc")
    return nfc(kept).strip()


def text_of(body: dict[str, Any]) -> str:
    """The cleaned text of a request. Raises InvalidRequest as the API's document says, or TooLarge `text_too_long`."""
    _request().check(body)
    text = clean(body["text"])
    if len(text) > LONGEST_TEXT:
        raise TooLarge(f"A text has at most {LONGEST_TEXT:,} characters.", code="text_too_long")
    return text


@functools.cache
def _request() -> Shape:
    return Shape("ScoreRequest", schemas=document.schemas())
