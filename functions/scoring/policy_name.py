"""How the scorers of a chain are put together, by name; apart, so that the API need not import who scores."""

from __future__ import annotations

from enum import StrEnum


class Policy(StrEnum):
    """What `ScorerPolicy` may be."""

    FALLBACK = "fallback"
    """The first that answers."""
    AVERAGE = "average"
    """The mean of all that answer."""
