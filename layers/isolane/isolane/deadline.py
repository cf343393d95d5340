"""How long is left; carried through every call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Deadline:
    """A moment by which something must have ended. "Nothing left" is a time like any other, never "not set"."""

    at_s: float
    """The moment, in seconds of `clock`."""
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    @classmethod
    def after(cls, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """The moment that is `seconds` from now."""
        return cls(clock() + seconds, clock)

    @property
    def expired(self) -> bool:
        return self.clock() >= self.at_s

    def left_s(self) -> float:
        """Seconds left; 0.0 once it has passed, never less."""
        return max(0.0, self.at_s - self.clock())

    def bounded(self, seconds: float) -> float:
        """The time for one step: its own limit, or what is left where that is less; in seconds, 0.0 at the least."""
        return max(0.0, min(seconds, self.left_s()))

    def within(self, seconds: float) -> Deadline:
        """The deadline of one step: `seconds` from now, or this one where it comes sooner."""
        return Deadline(min(self.at_s, self.clock() + seconds), self.clock)
