"""What can be counted in a text without understanding any of it: the facts that `scoring.rubric` turns into marks."""

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from scoring.connectives import in_characters, in_words
from scoring.scripts import (
    LATIN,
    Script,
    characters,
    dominant,
    is_cjk,
    pairs,
    plausible_characters,
    plausible_words,
    rare_pairs,
    words,
)

__all__ = ["WINDOWS", "Measures", "measure"]

# Over how many words, or pairs of characters, variety is averaged.
WINDOWS: dict[Script, int] = {"latin": 50, "cjk": 100}
# How many of those in a row make three words, or three characters.
_THREE: dict[Script, int] = {"latin": 3, "cjk": 2}

_STOPS = ".!?…。！？｡"
_CLOSERS = "\"'”’»)]）】」』〉》"
_STOP_RUN = re.compile(f"[{_STOPS}]+[{re.escape(_CLOSERS)}]*")
_CJK_STOP = re.compile("[。！？｡]")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|cf|fig|e\.g|i\.e|[a-hj-z])$", re.IGNORECASE)
_ABBREVIATION_REACH = 7
_FIRST = re.compile(f"[{LATIN}0-9]")

_MARK = re.compile('[,;:—–()"“”«»、，；：（）「」『』《》]')
_BRACKETS = (("(", ")"), ("[", "]"), ("（", "）"), ("「", "」"), ("《", "》"), ("“", "”"))
# Two spaces between words, a space before a comma or a stop, none after a comma, a mark twice.
_LATIN_SLIP = re.compile(
    rf"(?<=[{LATIN},;])[ \t]{{2,}}(?=[{LATIN}])|[ \t][,.](?=\s)|[{LATIN}],(?=[{LATIN}])|([!?,;])\1+"
)
# A narrow mark after a wide character, a mark twice.
_CJK_SLIP = re.compile(r"(?<=[\u3041-\u30ff\u4e00-\u9fff])[,;:?!.]|([，。；、！？])\1+")

# What neighbouring sentences share by grammar alone; English, where it was needed most.
_GRAMMAR = """
about after again back been being came come could does down even ever every from have here into just less like made make
many more most much must never only other over said same shall should some such than that their them then there these
they thing things this those upon very well were what when where which will with would your
"""
_GRAMMATICAL = frozenset(_GRAMMAR.split())
_STEM = 5
_SHORTEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The facts of one text. A unit is a word in Latin scripts, a character in Chinese, Japanese and Korean."""

    script: Script
    others: float = 0.0
    """Share (0..1) of the text that is in scripts other than `script`."""
    units: int = 0
    sentences: int = 0
    paragraphs: int = 0
    """Paragraphs of two sentences or more."""
    mean_length: float = 0.0
    """Units in a sentence, on average."""
    spread: float = 0.0
    """Standard deviation of the sentences' lengths over their mean."""
    variety: float = 0.0
    """Share (0..1) of different words, or pairs of characters, in a stretch of WINDOWS[script] of them, on average."""
    distinct: int = 0
    """Different words, or pairs of characters, in the whole."""
    fresh: int = 0
    """Different runs of three words, or three characters, inside sentences that end with a stop."""
    spelled: float = 0.0
    """Share (0..1) of words spelled as words are, or of characters among the commonest."""
    connected: int = 0
    """Sentences with a connective."""
    connectives: int = 0
    """Different connectives."""
    linked: int = 0
    """Neighbouring sentences that have a word, or a pair of characters, in common, and are not the same."""
    repeated: int = 0
    """Sentences that were there before, word for word."""
    stopped: int = 0
    """Sentences that end with a full stop, a question mark or the like."""
    capitals: int = 0
    """Sentences that begin with a capital or a digit; Latin scripts only."""
    marks: int = 0
    """Punctuation inside sentences."""
    slips: int = 0
    """Faults of spacing and punctuation."""


class _Sentence(NamedTuple):
    tokens: tuple[str, ...]
    length: int
    stopped: bool
    capital: bool
    connectives: frozenset[str]
    stems: frozenset[str]


def measure(text: str) -> Measures:
    """Counts a text in time proportional to its length; any str will do, and one without a letter measures nothing."""
    script, others = dominant(text)
    if script not in WINDOWS:
        return Measures(script=script, others=others)
    paragraphs = [_sentences(paragraph, script=script) for paragraph in _paragraphs(text)]
    sentences = list(chain.from_iterable(paragraphs))
    tokens = [token for sentence in sentences for token in sentence.tokens]
    lengths = [sentence.length for sentence in sentences]
    return Measures(
        script=script,
        others=others,
        units=sum(lengths),
        sentences=len(sentences),
        paragraphs=sum(len(paragraph) > 1 for paragraph in paragraphs),
        mean_length=sum(lengths) / len(lengths),
        spread=_spread(lengths),
        variety=_variety(tokens, window=WINDOWS[script]),
        distinct=len(set(tokens)),
        fresh=len(
            {run for sentence in sentences if sentence.stopped for run in _runs(sentence.tokens, size=_THREE[script])}
        ),
        spelled=plausible_words(tokens) if script == "latin" else plausible_characters(text),
        connected=sum(bool(sentence.connectives) for sentence in sentences),
        connectives=len(frozenset[str]().union(*(sentence.connectives for sentence in sentences))),
        linked=sum(_are_linked(one, two) for one, two in pairwise(sentences)),
        repeated=len(sentences) - len({sentence.tokens for sentence in sentences}),
        stopped=sum(sentence.stopped for sentence in sentences),
        capitals=sum(sentence.capital for sentence in sentences),
        marks=len(_MARK.findall(text)),
        slips=_slips(text, script=script),
    )


def _paragraphs(text: str) -> list[str]:
    """Parts between blank lines; in a text without any, a line that ends with a stop ends a paragraph."""
    lines = [line.strip() for line in text.strip().splitlines()]
    spaced = "" in lines
    blocks: list[list[str]] = [[]]
    for line in lines:
        blocks[-1].append(line)
        if not line or (not spaced and _ends_with_stop(line)):
            blocks.append([])
    return [" ".join(block) for block in blocks if any(block)]


def _ends_with_stop(line: str) -> bool:
    return line[-1] in _STOPS or (line[-1] in _CLOSERS and line[-2:-1] in tuple(_STOPS))


def _sentences(paragraph: str, *, script: Script) -> list[_Sentence]:
    ends = [stop.end() for stop in _STOP_RUN.finditer(paragraph) if _ends_sentence(paragraph, stop)]
    parts = [paragraph[start:end] for start, end in pairwise([0, *ends, len(paragraph)])]
    read = _read_words if script == "latin" else _read_characters
    sentences = [read(part, stopped=at < len(ends)) for at, part in enumerate(parts)]
    return [sentence for sentence in sentences if sentence.length > 0]


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    if _CJK_STOP.search(stop[0]):
        return True
    following = text[stop.end() : stop.end() + 1]
    if following and not following.isspace():
        return stop[0][0] in "!?" and is_cjk(following)
    if stop[0] == ".":
        return not _ABBREVIATION.search(text[max(0, stop.start() - _ABBREVIATION_REACH) : stop.start()])
    # "Stop!" he said.
    return stop[0][-1] not in _CLOSERS or not text[stop.end() : stop.end() + 2].strip().islower()


def _read_words(text: str, *, stopped: bool) -> _Sentence:
    found = words(text)
    first = _FIRST.search(text)
    return _Sentence(
        tokens=tuple(found),
        length=len(found),
        stopped=stopped,
        capital=first is not None and (first[0].isdigit() or first[0] != first[0].lower()),
        connectives=in_words(found),
        stems=frozenset([word[:_STEM] for word in found if len(word) >= _SHORTEST and word not in _GRAMMATICAL]),
    )


def _read_characters(text: str, *, stopped: bool) -> _Sentence:
    found = pairs(text)
    return _Sentence(
        tokens=tuple(found),
        length=characters(text),
        stopped=stopped,
        capital=False,
        connectives=in_characters(text),
        stems=rare_pairs(found),
    )


def _are_linked(one: _Sentence, two: _Sentence) -> bool:
    return one.tokens != two.tokens and not one.stems.isdisjoint(two.stems)


def _spread(lengths: Sequence[int]) -> float:
    """Standard deviation over mean, from whole numbers, so that no version of Python rounds it otherwise."""
    total = sum(lengths)
    return math.sqrt(len(lengths) * sum(length * length for length in lengths) - total * total) / total


def _variety(tokens: Sequence[str], *, window: int) -> float:
    """Moving-average type-token ratio. Windows run on from the end to the start, so each token is in as many of them as
    any other, and a text that is said twice is no more varied than it was."""
    size = len(tokens)
    if size <= window:
        return len(set(tokens)) / size
    # A token is new in those windows that it shares with no earlier one of its kind: as many as the way back to that.
    latest = {token: at for at, token in enumerate(tokens)}
    new = 0
    for at, token in enumerate(tokens):
        new += min(window, (at - latest[token] - 1) % size + 1)
        latest[token] = at
    return new / (size * window)


def _runs(tokens: Sequence[str], *, size: int) -> Iterable[Hashable]:
    return (tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _slips(text: str, *, script: Script) -> int:
    slip = _LATIN_SLIP if script == "latin" else _CJK_SLIP
    unbalanced = sum(abs(text.count(opening) - text.count(closing)) for opening, closing in _BRACKETS)
    return sum(1 for _ in slip.finditer(text)) + unbalanced
