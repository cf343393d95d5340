"""One form for what reads the same (Unicode NFC), in time that does not explode, and nothing that nobody can see.

Sorting a run of combining marks takes quadratic time in CPython: 100,000 of them hold a processor for ten seconds. No
writing system stacks more than a few, and Unicode's Stream-Safe Text Format allows 30; what goes beyond is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from isolane.errors import InvalidRequest, TooLarge

_MOST_MARKS = 30
_KEPT_CONTROLS = "\n\t"
_BOM = "\ufeff"
_SEEN = re.compile(
    "[^\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""What can be seen: all but white space, and what Unicode says is to be ignored where it cannot be shown."""


def nfc(text: str) -> str:
    """The text in NFC; of a run of combining marks, the first 30."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(_with_short_runs(text)))


def clean(text: str) -> str:
    """The text in NFC, line ends as `\\n`, without control characters and a byte order mark before it, trimmed.

    "" where there is nothing in it that anybody can see.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in lines if c in _KEPT_CONTROLS or unicodedata.category(c) != "Cc")
    cleaned = nfc(kept.lstrip(_BOM)).strip()
    return cleaned if _SEEN.search(cleaned) is not None else ""


def required(text: str, *, needed: str, code: str, longest: int) -> str:
    """A caller's text, cleaned. Raises InvalidRequest of that code where nothing of it can be seen, or TooLarge.

    `needed` is what it is called: "A prompt"; `longest` counts characters after cleaning.
    """
    cleaned = clean(text)
    if not cleaned:  # what the document's pattern cannot say: planes beyond the first
        raise InvalidRequest(f"{needed} is needed.", code=code)
    if len(cleaned) > longest:
        raise TooLarge(f"{needed} has at most {longest:,} characters.", code="text_too_long")
    return cleaned


def _with_short_runs(text: str) -> Iterator[str]:
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _MOST_MARKS:
            yield character
