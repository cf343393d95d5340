"""A validated judgement of a text, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
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
