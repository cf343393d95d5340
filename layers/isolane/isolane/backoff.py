"""How long to wait before the next try: growing, and never in step with others."""

from __future__ import annotations

import random
from collections.abc import Callable

SHORTEST_S = 2.0
LONGEST_S = 120.0

SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5

SHORTEST_COLLISION_S = 0.01
LONGEST_COLLISION_S = 0.4

Jitter = Callable[[float, float], float]


def after_attempt(attempt: int, *, jitter: Jitter = random.uniform) -> float:
    """Seconds to wait after the n-th counted attempt (1, 2, …) failed: 2, 4, 8, … to 120, a quarter of it random."""
    return _jittered(SHORTEST_S * 2 ** min(attempt - 1, 10), jitter=jitter)


def after_waiting(age_s: float, *, jitter: Jitter = random.uniform) -> float:
    """Seconds to wait where no attempt is counted: an eighth of what the message has waited, from 2 to 120.

    Waiting in proportion to the age grows as doubling does, and needs nobody to count; an eighth, as most of the age
    may have been spent in the queue, and whoever waits for long leaves a permit idle that is free again in seconds.
    """
    return _jittered(age_s / 8, jitter=jitter)


def between_tries(tries: int, *, jitter: Jitter = random.uniform) -> float:
    """Seconds to pause after the n-th try (1, 2, …) by somebody who waits on the spot: from 0.05 to 0.5, upper half."""
    longest = min(SHORTEST_PAUSE_S * 1.5 ** min(tries - 1, 20), LONGEST_PAUSE_S)
    return jitter(longest / 2, longest)


def after_collision(tries: int, *, jitter: Jitter = random.uniform) -> float:
    """Seconds to pause after the n-th try (1, 2, …) met somebody else's: full jitter, to 0.02, 0.04, … 0.4 at most.

    From 0, as those who have met once would meet again after any pause that all of them keep.
    """
    return jitter(0.0, min(SHORTEST_COLLISION_S * 2 ** min(tries, 10), LONGEST_COLLISION_S))


def not_before(after_s: float | None, *, jitter: Jitter = random.uniform) -> float | None:
    """A while after somebody may come again: all at that moment would be one crowd again. None stays None."""
    return None if after_s is None else after_s + jitter(0.0, 1.0 + after_s / 4)


def _jittered(wait_s: float, *, jitter: Jitter) -> float:
    longest = min(max(wait_s, SHORTEST_S), LONGEST_S)
    return jitter(longest * 3 / 4, longest) if longest > SHORTEST_S else jitter(1.0, SHORTEST_S)
