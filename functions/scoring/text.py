"""The text that somebody wants scored, made ready: one form for what reads the same, and no control characters."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Any

from isolane.characters import nfc
from isolane.errors import InvalidRequest, TooLarge
from isolane.shapes import Shape
from web import document

LONGEST_TEXT = 100_000
"""Characters, after cleaning."""

_KEPT_CONTROLS = "\n\t"
_BOM = "\ufeff"
_SEEN = re.compile(
    "[^\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""What can be seen: all but white space, and what Unicode says is to be ignored where it cannot be shown."""


def clean(text: str) -> str:
    """The text in NFC, line ends as `\\n`, without control characters and a byte order mark before it, trimmed.

    "" where there is nothing in it that anybody can see.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in lines if c in _KEPT_CONTROLS or unicodedata.category(c) != "Cc")
    cleaned = nfc(kept.lstrip(_BOM)).strip()
    return cleaned if _SEEN.search(cleaned) is not None else ""


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
