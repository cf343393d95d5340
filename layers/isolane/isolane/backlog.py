"""How long a queue's newest message would wait, and refusing more where that is too long.

The estimate is what waits, times what one message has lately taken, over how many are worked on at once. Both numbers
are looked up at most once in five seconds by each process, so that a request costs no call of its own. Where nobody has
worked yet there is no pace and no estimate, and nothing is refused.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from isolane.aws.queue import Depth, Queue
from isolane.errors import IsolaneError, Overloaded
from isolane.kv import Values
from isolane.observability import logger

LOOK_EVERY_S = 5.0
_PACE_KEPT_S = 3_600
_WEIGHT = 0.2
"""Of the newest message in the average."""
_LONGEST_RETRY_AFTER_S = 300


@dataclass
class _Seen:
    until_s: float = -math.inf
    pace_s: float | None = None
    waiting: int = 0


@dataclass
class _Pace:
    told_s: float = -math.inf
    average_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits in one queue, and how fast it is worked off."""

    queue: Queue
    values: Values
    name: str
    at_once: int
    """Messages that are worked on at once, over all workers."""
    longest_wait_s: float
    """From here on more is refused; 0: never."""
    keeps_pace: bool = False
    """Whether the pace is told where nothing is ever refused, too: for who is told when the work will be done."""
    clock: Callable[[], float] = time.monotonic
    _seen: _Seen = field(default_factory=_Seen)
    _pace: _Pace = field(default_factory=_Pace)
    _telling: threading.Lock = field(default_factory=threading.Lock)

    def admit(self) -> None:
        """Raises Overloaded where what is submitted now would wait too long."""
        if self.longest_wait_s <= 0:
            return
        wait_s = self.wait_s()
        if wait_s is not None and wait_s > self.longest_wait_s:
            retry_after_s = min(math.ceil(wait_s - self.longest_wait_s), _LONGEST_RETRY_AFTER_S)
            raise Overloaded(retry_after_s=max(1, retry_after_s))

    def wait_s(self, *, more: int = 0) -> float | None:
        """Seconds that a new message would wait, behind `more` that are new, too; None where nobody can tell.

        From numbers that are at most five seconds old.
        """
        if self.clock() >= self._seen.until_s:
            self._look()
            self._seen.until_s = self.clock() + LOOK_EVERY_S
        pace_s = self._seen.pace_s
        return None if pace_s is None else (self._seen.waiting + more) * pace_s / self.at_once

    def worked(self, seconds: float) -> None:
        """A message took that long. Told to the others at most once in five seconds."""
        if self.longest_wait_s <= 0 and not self.keeps_pace:
            return
        with self._telling:
            old = self._pace.average_s
            self._pace.average_s = seconds if old is None else old + _WEIGHT * (seconds - old)
            if self.clock() < self._pace.told_s + LOOK_EVERY_S:
                return
            self._pace.told_s = self.clock()
            average_s = self._pace.average_s
        self.values.put(self._key(), {"seconds": round(average_s, 4)}, ttl_s=_PACE_KEPT_S)

    def _look(self) -> None:
        self._seen.pace_s = None
        try:
            pace = self.values.get(self._key())
            if pace is not None:
                self._seen.waiting = self._waiting(self.queue.depth())
                self._seen.pace_s = float(pace["seconds"])
        except IsolaneError:
            # Whoever submits meets the same trouble at once, and says so better.
            logger().warning("the backlog could not be estimated")

    def _waiting(self, depth: Depth) -> int:
        """Messages that nobody works on: those in flight that are too many for it have been put off."""
        return depth.visible + max(0, depth.in_flight - self.at_once)

    def _key(self) -> str:
        return f"pace#{self.name}"
