"""What has to happen without a reader: a list of duties, each with what is due and how it is done.

An index proposes and the base table decides, by a conditional write: two sweepers at once do nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from isolane.deadline import Deadline
from isolane.errors import IsolaneError
from isolane.observability import count, logger
from isolane.pool import Pool

_NEEDS_S = 5.0
"""Nothing is begun with less time than this left: the next minute goes on from there."""


@dataclass(frozen=True, kw_only=True)
class Duty:
    """Something that is done to whatever is due for it."""

    name: str
    due: Callable[[], Iterable[Any]]
    """Whatever is due now, found as it is asked for."""
    perform: Callable[[Any, Deadline], object]
    """Does it in time, and once, however often it is asked to."""


class Sweeper:
    """Does all duties, as far as the time goes."""

    def __init__(self, duties: Sequence[Duty], *, at_once: int = 1) -> None:
        """`at_once`: how many things of one duty are done side by side, where each waits for somebody else."""
        self._duties = duties
        self._pool = Pool(at_once)

    def sweep(self, *, deadline: Deadline) -> None:
        """Every duty in turn, each with its share of the time that is left; one that fails leaves the others alone."""
        for number, duty in enumerate(self._duties):
            share = deadline.within(deadline.left_s() / (len(self._duties) - number))
            try:
                done = self._done(duty, deadline=share)
            except IsolaneError as error:  # what is due cannot be found; it will be in a minute
                logger().warning("swept badly", extra={"duty": duty.name, "error": type(error).__name__})
                continue
            if done:
                count(f"swept_{duty.name}", amount=done)

    def _done(self, duty: Duty, *, deadline: Deadline) -> int:
        done, due = 0, iter(duty.due())
        while deadline.left_s() >= _NEEDS_S and (some := list(islice(due, self._pool.size))):
            done += sum(self._pool.map(lambda item: _performed(duty, item, deadline=deadline), some))
        return done


def _performed(duty: Duty, item: Any, *, deadline: Deadline) -> bool:
    """Whether it is done; one that fails must not keep the rest from their turn."""
    try:
        duty.perform(item, deadline)
    except IsolaneError as error:
        logger().warning("not done", extra={"duty": duty.name, "error": type(error).__name__})
        return False
    return True
