"""A text that is too long to be judged at once, cut into parts that can be: at the end of a paragraph, else of a
sentence, else of a word, and never inside of what a reader takes for one character."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isolane.graphemes import last_cut, may_cut

LONGEST_PART = 6_000
"""Characters."""
MOST_TOKENS = 12_000
"""Tokens, as they are estimated here: as much as the longest part in Chinese comes to."""

_ENDS = (
    re.compile(r"\n\s*"),
    re.compile(r"""(?<=[.!?…؟۔।॥])["'”’»)\]]*\s+|(?<=[。！？；])(?![。！？；…])["'”’」』）】》]*\s*"""),
    re.compile(r"\s+"),
)
"""Where paragraphs, sentences and words end, what follows them included; each in time proportional to the text."""


def cut(text: str) -> tuple[str, ...]:
    """The text in parts of about equal length, which together are the text again."""
    return tuple(_parts(text))


def parts_of(text: str) -> tuple[str, ...]:
    """What is to be judged of each part: trimmed, and without those that have nothing but white space."""
    return tuple(trimmed for part in cut(text) if (trimmed := part.strip()))


def fits(text: str) -> bool:
    """Whether this can be judged at once."""
    return len(text) <= LONGEST_PART and tokens(text) <= MOST_TOKENS


def tokens(text: str) -> int:
    """How many tokens the text may be for a model, estimated high: one for two ASCII characters, and for any other as
    many as its bytes in UTF-8 less one, so two for one of Chinese; models need about half of that."""
    return (sum(map(_half_tokens, text)) + 1) // 2


def _half_tokens(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 4 if code < 0x10000 else 6


def _parts(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        most = _most(text, begin)
        left = len(text) - begin
        end = begin + most if most == left else _end(text, begin, most=most, aim=_even_share(left, most=most))
        yield text[begin:end]
        begin = end


def _most(text: str, begin: int) -> int:
    """How many characters from there fit into one part, wherever that would cut."""
    budget = 2 * MOST_TOKENS
    for number, character in enumerate(text[begin : begin + LONGEST_PART]):
        budget -= _half_tokens(character)
        if budget < 0:
            return number
    return min(LONGEST_PART, len(text) - begin)


def _even_share(left: int, *, most: int) -> int:
    """How long each part would be if what is left were cut evenly: a last part of one sentence judges nothing."""
    return -(-left // -(-left // most))


def _end(text: str, begin: int, *, most: int, aim: int) -> int:
    """The best place to end the part: of the first kind that there is, the one that is nearest to an even share."""
    for pattern in _ENDS:
        found = [at for at in _places(pattern, text, begin, begin + most) if at - begin >= aim // 2]
        if found:
            return min(found, key=lambda at: abs(at - begin - aim))
    words = list(_places(_ENDS[-1], text, begin, begin + most))
    return words[-1] if words else begin + last_cut(text[begin : begin + most + 1], most=most)


def _places(pattern: re.Pattern[str], text: str, begin: int, last: int) -> Iterator[int]:
    for found in pattern.finditer(text, begin, last):
        if begin < found.end() and may_cut(text, found.end()):
            yield found.end()
