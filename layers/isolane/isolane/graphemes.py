"""Where a text may be cut without cutting what a reader takes for one character (Unicode's grapheme clusters, UAX #29).

Conservative, so that no table of properties is needed and every Python's Unicode will do: a place is refused wherever
some version of the standard may hold its two sides together. Emoji joined by ZWJ, flags, skin tones, variation
selectors and tags, Hangul jamo, combining marks, Indic conjuncts and prepended signs stay whole.
"""

from __future__ import annotations

import unicodedata

_VIRAMA = 9
"""The combining class of the signs that join two consonants into one letter."""
_LONGEST_LOOK_BACK = 64
"""Marks between a virama and the next consonant: no writing system stacks more than a few."""

_PREPENDED = frozenset(
    "\u0d4e\U000111c2\U000111c3\U000113d1\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87"
    "\U00011a88\U00011a89\U00011d46\U00011f02"
)
"""Letters that belong to the next one; the signs that do so are of category Cf."""
_APPENDED = frozenset("\u0e33\u0eb3\uff9e\uff9f")
"""Letters that belong to the one before: Thai and Lao AM, half-width sound marks."""


def may_cut(text: str, at: int) -> bool:
    """Whether a text may be cut before its character number `at`; at its two ends always."""
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return (before, after) != ("\r", "\n")
    return not (
        _extends(after)
        or _takes_the_next(before)
        or _are_jamo(before, after)
        or _are_halves_of_a_flag(text, at)
        or _is_conjunct(text, at)
    )


def last_cut(text: str, *, most: int) -> int:
    """The last place, not after `most`, at which the text may be cut; `most` itself where there is none.

    That is so only where one cluster is longer than `most`, which nobody writes who wants to be read.
    """
    most = min(most, len(text))
    return next((at for at in range(most, 0, -1) if may_cut(text, at)), most)


def _extends(character: str) -> bool:
    """Marks, joiners and selectors; skin tones; tags; the few letters that are marks in all but name."""
    return (
        unicodedata.category(character)[0] == "M"
        or character in "\u200c\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0000" <= character <= "\U000e0fff"
        or character in _APPENDED
    )


def _takes_the_next(character: str) -> bool:
    return (unicodedata.category(character) == "Cf" and character < "\U000e0000") or character in _PREPENDED


def _are_jamo(before: str, after: str) -> bool:
    """A syllable of Hangul may go on: a leading consonant takes any, a vowel or a final goes on from any."""
    goes_on = _is_conjoining(after) and not _is_leading(after)
    return (goes_on and _is_hangul(before)) or (_is_leading(before) and _is_hangul(after))


def _is_hangul(character: str) -> bool:
    return _is_conjoining(character) or "\uac00" <= character <= "\ud7a3"


def _is_conjoining(character: str) -> bool:
    return (
        "\u1100" <= character <= "\u11ff"
        or "\ua960" <= character <= "\ua97f"
        or "\ud7b0" <= character <= "\ud7ff"
        or "\U00016d63" <= character <= "\U00016d6a"  # Kirat Rai's vowels go together in the same way
    )


def _is_leading(character: str) -> bool:
    return "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c"


def _are_halves_of_a_flag(text: str, at: int) -> bool:
    """Regional indicators go in pairs, counted from where their run begins."""
    if not (_is_regional(text[at - 1]) and _is_regional(text[at])):
        return False
    begin = at
    while begin > 0 and _is_regional(text[begin - 1]):
        begin -= 1
    return (at - begin) % 2 == 1


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_conjunct(text: str, at: int) -> bool:
    """A virama, and whatever marks are around it, holds two consonants together."""
    for back in range(at - 1, max(-1, at - 1 - _LONGEST_LOOK_BACK), -1):
        if unicodedata.combining(text[back]) == _VIRAMA:
            return True
        if not _extends(text[back]):
            return False
    return True
