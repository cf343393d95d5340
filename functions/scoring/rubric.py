"""The scorer that needs nothing: marks worked out from what can be counted in a text.

It is not a model. It understands nothing: not whether a text is true, to the point, kind, or means anything at all. It
counts sentences, words and marks, and gives marks for the counts that careful prose tends to have; nonsense that is
laid out as careful prose is scored as careful prose. It is here so that everything around a scorer can run, be tested
and be shown without a key, and so that a chain of scorers has a last one that always answers.

What is counted by words in Latin scripts is counted by characters in Chinese, Japanese and Korean (CJK); a mixed text
is counted by its dominant script alone. Other scripts, and texts without a letter, get 0 in everything and a comment
that says why. Dimensions and their weights, and what is measured for them (a dimension is the mean of its rows):

| dimension, weight | what is measured                                       | no marks at    | full marks at |
|-------------------|--------------------------------------------------------|----------------|---------------|
| development, 30   | different runs of three words inside sentences that    | 0              | 800           |
|                   | end with a stop (root); CJK: of three characters       | 0              | 1,200         |
| structure, 20     | paragraphs of two sentences or more                    | 0              | 4             |
|                   | words in a sentence, on average                        | 4, and 60      | 10 to 30      |
|                   | CJK: characters                                        | 5, and 100     | 14 to 50      |
|                   | standard deviation of that length over its average     | 0              | 0.35          |
| vocabulary, 20    | share of different words in 50 running, on average     | 0.4            | 0.75          |
|                   | CJK: of different pairs of characters in 100           | 0.4            | 0.85          |
|                   | different words in all                                 | 0              | 200           |
|                   | CJK: different pairs of characters                     | 0              | 400           |
| cohesion, 15      | share of sentences with a connective                   | 0              | 0.4           |
|                   | different connectives                                  | 0              | 8             |
|                   | share of neighbouring sentences with a word in common  | 0              | 0.25          |
| mechanics, 15     | share of sentences that end with a stop                | 0.5            | 1             |
|                   | share that begin with a capital (not CJK)              | 0.5            | 1             |
|                   | commas and other marks inside, for each sentence       | 0, and 12      | 0.6 to 5      |
|                   | slips of spacing and punctuation, for each sentence    | 0.5            | 0             |

Between none and full the marks run straight, or (root) as the square root. Each dimension is then multiplied by how
genuine the text looks, which is the product of two shares: sentences that were not there before, word for word; and
words without a cluster that no language spells (none at 0.5, full at 0.9), or, CJK, characters that are among the
commonest (none at 0.05, full at 0.2).

The score is the mean of the dimensions by weight, rounded half up. A change to any number here, to a list of words or
to a way of counting changes scores, and so needs a new RUBRIC_VERSION: it is part of the key of every cached score.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring.measures import Measures, measure
from scoring.remarks import remarks, why_nothing
from scoring.scripts import Script

__all__ = ["NAME", "Measures", "measure", "score"]

NAME = "builtin-rubric"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """The marks of the table above that depend on the script: where there are none, where they are full."""

    fresh: int
    length: tuple[int, int, int, int]
    variety: tuple[float, float]
    distinct: int
    spelled: tuple[float, float]
    has_capitals: bool


_SCALES: dict[Script, _Scale] = {
    "latin": _Scale(
        fresh=800, length=(4, 10, 30, 60), variety=(0.4, 0.75), distinct=200, spelled=(0.5, 0.9), has_capitals=True
    ),
    "cjk": _Scale(
        fresh=1_200, length=(5, 14, 50, 100), variety=(0.4, 0.85), distinct=400, spelled=(0.05, 0.2), has_capitals=False
    ),
}


def score(text: str) -> dict[str, Any]:
    """Scores any text, in time proportional to its length.

    Returns `{"score": 0..100, "dimensions": {name: 0..100}, "comments": [2 to 4 sentences]}`, whole numbers all; the
    comments tell what was counted and never repeat the text.
    """
    measures = measure(text)
    scale = _SCALES.get(measures.script)
    if scale is None:
        return {"score": 0, "dimensions": dict.fromkeys(_DIMENSIONS, 0), "comments": why_nothing(measures)}
    genuine = _genuine(measures, scale)
    dimensions = {name: _percent(_mean(rows(measures, scale)) * genuine) for name, (_, rows) in _DIMENSIONS.items()}
    comments = remarks(measures, dimensions, spelled_enough=scale.spelled[1])
    return {"score": _weighted(dimensions), "dimensions": dimensions, "comments": comments}


def _development(measures: Measures, scale: _Scale) -> list[float]:
    return [math.sqrt(_rise(measures.fresh, none=0, full=scale.fresh))]


def _structure(measures: Measures, scale: _Scale) -> list[float]:
    return [
        _rise(measures.paragraphs, none=0, full=4),
        _band(measures.mean_length, scale.length),
        _rise(measures.spread, none=0, full=0.35),
    ]


def _vocabulary(measures: Measures, scale: _Scale) -> list[float]:
    none, full = scale.variety
    return [_rise(measures.variety, none=none, full=full), _rise(measures.distinct, none=0, full=scale.distinct)]


def _cohesion(measures: Measures, _: _Scale) -> list[float]:
    return [
        _rise(measures.connected / measures.sentences, none=0, full=0.4),
        _rise(measures.connectives, none=0, full=8),
        _rise(measures.linked / max(1, measures.sentences - 1), none=0, full=0.25),
    ]


def _mechanics(measures: Measures, scale: _Scale) -> list[float]:
    sentences = measures.sentences
    capitals = [_rise(measures.capitals / sentences, none=0.5, full=1)] if scale.has_capitals else []
    return [
        _rise(measures.stopped / sentences, none=0.5, full=1),
        *capitals,
        _band(measures.marks / sentences, (0, 0.6, 5, 12)),
        _rise(measures.slips / sentences, none=0.5, full=0),
    ]


_DIMENSIONS: dict[str, tuple[int, Callable[[Measures, _Scale], list[float]]]] = {
    "development": (30, _development),
    "structure": (20, _structure),
    "vocabulary": (20, _vocabulary),
    "cohesion": (15, _cohesion),
    "mechanics": (15, _mechanics),
}


def _genuine(measures: Measures, scale: _Scale) -> float:
    none, full = scale.spelled
    return _rise(measures.spelled, none=none, full=full) * (1 - measures.repeated / measures.sentences)


def _rise(value: float, *, none: float, full: float) -> float:
    """Marks from 0 to 1 in a straight line; where full is below none, less is better."""
    return min(1.0, max(0.0, (value - none) / (full - none)))


def _band(value: float, edges: tuple[float, float, float, float]) -> float:
    """Full marks between the inner edges, none beyond the outer ones."""
    low, enough, much, too_much = edges
    return min(_rise(value, none=low, full=enough), _rise(value, none=too_much, full=much))


def _mean(rows: list[float]) -> float:
    # Not sum(), which adds floats in another way from Python 3.12 on.
    return math.fsum(rows) / len(rows)


def _percent(share: float) -> int:
    return math.floor(share * 100 + 0.5)


def _weighted(dimensions: dict[str, int]) -> int:
    total = sum(weight * dimensions[name] for name, (weight, _) in _DIMENSIONS.items())
    return (total + 50) // 100
