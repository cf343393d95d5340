"""Which signs stand where in a reading: found by the words with which an entry begins, then looked at closely."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from scoring.guard_readings import folded
from scoring.guard_words import AFTER_A_MARK, BEFORE_TO, MARKS_OF_RUNS, MAY_COMMAND, RUNS, WORDS, Sign

Signs = Mapping[Sign, Sequence[int]]
"""Where each sign stands, in order."""

_ENTRIES = re.compile(r"[|\n]")
_GAP = r"[^\w\n]{1,3}"
_NUMBER = re.compile(r"(?<!\d)(?:0|9\d|100)(?!\d)")
_AFTER = re.compile(r"([^\w\n]{0,4})([^\W\d]{0,16})")
_LOOK_BACK = 40
"""Characters: two words, or one long one."""
_PUNCTUATION = "\"'“”‘’«»„‹›()[]*.,:;!?¿¡-–—"
_NO_MARK_BEFORE = frozenset("£$€¥#.,")
_NO_MARK_AFTER = frozenset("%°£$€¥")


@dataclass(frozen=True, kw_only=True)
class _Beginning:
    """What a word may be, and what it and those after it may be."""

    alone: Sequence[Sign]
    rows: Sequence[tuple[Sign, str]]
    """The signs of several words, each with its last."""
    rest: re.Pattern[str] | None
    """What follows in these rows, a group for each."""


def signs_of(text: str) -> Signs:
    """The signs of a reading."""
    found: dict[Sign, list[int]] = defaultdict(list)
    places = [_signs_in_words(text), _numbers(text)]
    if not text.isascii():
        places.append(_signs_in_runs(text))
    for sign, place in chain.from_iterable(places):
        found[sign].append(place)
    return {sign: sorted(there) for sign, there in found.items()}


def _signs_in_words(text: str) -> Iterator[tuple[Sign, int]]:
    beginnings = _beginnings()
    for match in _first_words().finditer(text):
        start, beginning = match.start(), beginnings[match[0]]
        for sign in beginning.alone:
            if sign not in _ORDERS or _is_order(text, start):
                yield sign, start
        if beginning.rest is not None and (rest := beginning.rest.match(text, match.end())) is not None:
            sign, last = beginning.rows[(rest.lastindex or 0) - 1]
            if _holds(sign, last, text, start=start, end=rest.end()):
                yield sign, start


_ORDERS = frozenset({Sign.IGNORE, Sign.GIVE, Sign.OBEY})
"""What merely tells something, unless it is an order."""


def _holds(sign: Sign, last: str, text: str, *, start: int, end: int) -> bool:
    if last == "hundred":
        return _may_be_mark(text, end)
    return sign is not Sign.OBEY or _is_order(text, start)


def _numbers(text: str) -> Iterator[tuple[Sign, int]]:
    for match in _NUMBER.finditer(text):
        if text[match.start() - 1 : match.start()] not in _NO_MARK_BEFORE and _may_be_mark(text, match.end()):
            yield (Sign.ZERO if match[0] == "0" else Sign.NUMBER), match.start()


def _signs_in_runs(text: str) -> Iterator[tuple[Sign, int]]:
    runs, starts = _runs()
    for start in starts.finditer(text):
        if (match := runs.match(text, start.start())) is not None:
            yield from ((sign, start.start()) for sign in _signs_of_runs()[match[0]])


def _is_order(text: str, start: int) -> bool:
    """Whether a verb is an order: it begins a sentence or a clause, or follows what leads to one."""
    before = text[max(0, start - _LOOK_BACK) : start].rstrip(" \t")
    if not before[-1:].isalpha():
        return True
    *_, earlier, last = ("", *before.split())
    return earlier in BEFORE_TO if last == "to" else last.strip(_PUNCTUATION) in MAY_COMMAND


def _may_be_mark(text: str, end: int) -> bool:
    """Whether a number that ends there may be a mark: it is no share, no part of a longer one, and counts nothing."""
    gap, word = _AFTER.match(text, end).groups()  # type: ignore[union-attr]  # it matches nothing, too
    if gap[:1] in {".", ","} and text[end + 1 : end + 2].isdigit():
        return False
    if sign := gap.strip():
        return sign[0] not in _NO_MARK_AFTER
    return not word or word.startswith(MARKS_OF_RUNS) or (gap != "" and word in AFTER_A_MARK)


@cache
def _beginnings() -> Mapping[str, _Beginning]:
    """The entries by what they begin with: a word, or the stem of one."""
    alone: dict[str, list[Sign]] = defaultdict(list)
    longer: dict[str, list[tuple[Sign, list[str]]]] = defaultdict(list)
    for sign, words in WORDS.items():
        for first, *rest in filter(None, map(str.split, _ENTRIES.split(words))):
            begins = first.removesuffix("*")
            alone[begins].extend([] if rest else [sign])
            longer[begins].extend([(sign, rest)] if rest else [])
    return {begins: _beginning(alone[begins], longer[begins]) for begins in alone}


def _beginning(alone: Sequence[Sign], longer: list[tuple[Sign, list[str]]]) -> _Beginning:
    longest_first = sorted(longer, key=lambda row: -len(row[1]))
    rows = [(sign, rest[-1]) for sign, rest in longest_first]
    choices = (f"({''.join(_GAP + _word(word) for word in rest)})" for _, rest in longest_first)
    return _Beginning(alone=alone, rows=rows, rest=re.compile("|".join(choices)) if rows else None)


def _word(word: str) -> str:
    return re.escape(word[:-1]) + r"[^\W\d]*" if word.endswith("*") else re.escape(word) + r"(?![^\W\d])"


@cache
def _first_words() -> re.Pattern[str]:
    """A word, or a stem, with which an entry begins."""
    firsts = {entry.split()[0] for words in WORDS.values() for entry in _ENTRIES.split(words) if entry.strip()}
    stems = {first[:-1] for first in firsts if first.endswith("*")}
    tree: dict[str, Any] = {}
    for first in firsts:
        branch = tree
        for character in first.removesuffix("*"):
            branch = branch.setdefault(character, {})
        branch[""] = "" if first.removesuffix("*") in stems else r"(?![^\W\d])"
    return re.compile(r"(?<![^\W\d])" + _alternatives(tree))


def _alternatives(tree: Mapping[str, Any]) -> str:
    """A pattern that tries the longest first, and each letter once: `(?:give(?:n)?|take)`."""
    branches = [re.escape(letter) + _alternatives(tree[letter]) for letter in sorted(tree) if letter]
    ends = [tree[""]] if "" in tree else []
    return branches[0] if not ends and len(branches) == 1 else f"(?:{'|'.join([*branches, *ends])})"


@cache
def _signs_of_runs() -> Mapping[str, Sequence[Sign]]:
    found: dict[str, list[Sign]] = defaultdict(list)
    for sign, words in RUNS.items():
        for entry in filter(None, map(str.strip, _ENTRIES.split(words))):
            found[folded(entry)].append(sign)
    return found


@cache
def _runs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The runs, the longest first, and the characters with which one begins; one may begin inside another."""
    longest_first = sorted(_signs_of_runs(), key=len, reverse=True)
    starts = "".join({run[0] for run in longest_first})
    return re.compile("|".join(map(re.escape, longest_first))), re.compile(f"[{starts}]")
