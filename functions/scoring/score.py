"""A validated judgement of a text, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one scorer said."""

    score: int
    """0 to 100."""
    dimensions: Mapping[str, int]
    """0 to 100 by name; the names are the scorer's own."""
    comments: tuple[str, ...]
    requests: int = 0
    """Requests that it took, repairs included."""


def weighted_mean(scores: Sequence[tuple[int, Score]], *, comments: tuple[str, ...], requests: int) -> Score:
    """Several judgements as one, each with its weight, rounded half up.

    A dimension that not all have is the mean of those that have it: scorers name their own.
    """
    names = dict.fromkeys(name for _, score in scores for name in score.dimensions)
    dimensions = {
        name: _mean([(weight, score.dimensions[name]) for weight, score in scores if name in score.dimensions])
        for name in names
    }
    whole = _mean([(weight, score.score) for weight, score in scores])
    return Score(score=whole, dimensions=dimensions, comments=comments, requests=requests)


def _mean(marks: Sequence[tuple[int, int]]) -> int:
    total, weight = sum(weight * mark for weight, mark in marks), sum(weight for weight, _ in marks)
    return (2 * total + weight) // (2 * weight)
