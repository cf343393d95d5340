"""One form for what reads the same (Unicode NFC), in time that does not explode.

Sorting a run of combining marks takes quadratic time in CPython: 100,000 of them hold a processor for ten seconds. No
writing system stacks more than a few, and Unicode's Stream-Safe Text Format allows 30; what goes beyond is dropped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_MOST_MARKS = 30


def nfc(text: str) -> str:
    """The text in NFC; of a run of combining marks, the first 30."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(_with_short_runs(text)))


def _with_short_runs(text: str) -> Iterator[str]:
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _MOST_MARKS:
            yield character
