"""The text that somebody wants scored, made ready: one form for what reads the same, and no control characters."""

from __future__ import annotations

import unicodedata
from typing import Any

from isolane.characters import nfc
from isolane.errors import InvalidRequest, TooLarge

LONGEST_TEXT = 100_000
"""Characters, after cleaning."""

_KEPT_CONTROLS = "\n\t"


def clean(text: str) -> str:
    """The text in NFC, line ends as `\\n`, without control characters, trimmed."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in lines if c in _KEPT_CONTROLS or unicodedata.category(c) != "Cc")
    return nfc(kept).strip()


def text_of(body: dict[str, Any]) -> str:
    """The cleaned text of a request. Raises InvalidRequest `text_required`, or TooLarge `text_too_long`."""
    given = body.get("text")
    if given is not None and not isinstance(given, str):
        raise InvalidRequest("text is a string.")
    text = clean(given or "")
    if not text:
        raise InvalidRequest("A text to score is needed.", code="text_required")
    if len(text) > LONGEST_TEXT:
        raise TooLarge(f"A text has at most {LONGEST_TEXT:,} characters.", code="text_too_long")
    return text
