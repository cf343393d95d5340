"""An accurate rate limit by key: so many in a period, so many at once, shared by all processes (GCRA).

    taken = RateLimit(values_table, limit=60, period_s=60, burst=10).take("ann#POST /score")
    if not taken.allowed: ...                 # 429, Retry-After: taken.retry_after_s

The generic cell rate algorithm keeps one moment for a key: when it will have made up for all that was taken. Each take
moves it on by one interval (period / limit); one that would move it further ahead of now than `burst` intervals is
refused and moves nothing. There is no window at whose edge twice the limit gets through.

The rows lie in Values, as a key that is full again is worth nothing: its moment is past, which counts as no row at all
and is when DynamoDB may drop it. Clocks that differ by some seconds let through at most what these seconds are worth,
once: the moment never moves back. A take whose answer is lost and which the SDK sends again may charge twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from isolane.aws.table import Table
from isolane.errors import ConditionFailed, ConfigurationError, Contended, InvalidRequest

# The clauses of the conditions, each with the race that it closes.

IN_USE = "#full_at_ns >= :now_ns"
"""A gap in which nothing was taken: it must not be saved up beyond `burst`."""
WITHIN_THE_BURST = "#full_at_ns <= :latest_ns"
"""Two who both see room for one: the write that takes it is the one that looks."""
IDLE = "(attribute_not_exists(#full_at_ns) OR #full_at_ns < :now_ns)"
"""Two who both end an idle gap: the second must not wipe out what the first has taken. And TTL, which deletes late."""

_SECOND_NS = 1_000_000_000
_MOST_ROUNDS = 2
"""In the first, somebody else may end an idle gap at the same time; then the key is in use, and stays so."""
_KEPT_S = 60
"""How long after its moment a row may be dropped, so that a slow clock still finds it."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Whether it was allowed, and how the key stands after it."""

    allowed: bool
    limit: int
    """What can be taken at once where nothing was taken before: the burst."""
    remaining: int
    """What can be taken at once now."""
    reset_s: float
    """Seconds until all of `limit` can be taken again, if nothing is taken meanwhile."""
    retry_after_s: float
    """Seconds until the same take is allowed, if nobody else takes meanwhile; 0.0 where it was allowed."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """`limit` in `period_s` seconds on average, `burst` of them at once; in whole nanoseconds, which add up exactly."""

    interval_ns: int
    """Time that one is worth, rounded up: rather one nanosecond too slow than one take too many."""
    burst: int

    @property
    def most_ahead_ns(self) -> int:
        return self.burst * self.interval_ns

    def latest_ns(self, now_ns: int, *, cost: int) -> int:
        """A take that finds the moment later than this is refused."""
        return now_ns + self.most_ahead_ns - cost * self.interval_ns

    def allowed(self, full_at_ns: int, *, now_ns: int) -> Taken:
        return self._taken(full_at_ns, now_ns=now_ns, wait_ns=None)

    def refused(self, full_at_ns: int, *, now_ns: int, cost: int) -> Taken:
        return self._taken(full_at_ns, now_ns=now_ns, wait_ns=full_at_ns - self.latest_ns(now_ns, cost=cost))

    def _taken(self, full_at_ns: int, *, now_ns: int, wait_ns: int | None) -> Taken:
        ahead_ns = full_at_ns - now_ns
        return Taken(
            allowed=wait_ns is None,
            limit=self.burst,
            remaining=max(0, (self.most_ahead_ns - ahead_ns) // self.interval_ns),
            reset_s=ahead_ns / _SECOND_NS,
            retry_after_s=(wait_ns or 0) / _SECOND_NS,
        )


@dataclass(frozen=True)
class RateLimit:
    """One limit for many keys, in the Values table."""

    table: Table
    limit: int
    """How many in a period, on average."""
    period_s: float
    burst: int | None = None
    """How many at once; as many as `limit` where it is not said."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""

    def __post_init__(self) -> None:
        if self.limit < 1 or self.period_s <= 0 or (self.burst is not None and self.burst < 1):
            raise ConfigurationError("A rate is at least one in some time, and at least one at once.")

    @property
    def rate(self) -> Rate:
        interval_ns = -(-round(self.period_s * _SECOND_NS) // self.limit)
        return Rate(interval_ns=interval_ns, burst=self.burst if self.burst is not None else self.limit)

    def take(self, key: str, *, cost: int = 1) -> Taken:
        """Takes `cost` of what the key has left, or nothing; one write, or two after an idle gap.

        Raises InvalidRequest for a cost that could never be allowed, and Unavailable where the store does not answer.
        """
        if not 1 <= cost <= self.rate.burst:
            raise InvalidRequest("What is taken at once is at least one and at most the burst.")
        now_ns = int(self.clock() * _SECOND_NS)
        for _ in range(_MOST_ROUNDS):
            taken = self._take_more(key, cost=cost, now_ns=now_ns) or self._take_first(key, cost=cost, now_ns=now_ns)
            if taken is not None:
                return taken
        raise Contended

    def _take_more(self, key: str, *, cost: int, now_ns: int) -> Taken | None:
        """For a key in use; None where it is idle."""
        when = f"{IN_USE} AND {WITHIN_THE_BURST}"
        try:
            row = self._set("#full_at_ns + :charge_ns", key, when=when, cost=cost, now_ns=now_ns)
        except ConditionFailed as refusal:
            full_at_ns = refusal.found["full_at_ns"] if refusal.found is not None else 0
            return self.rate.refused(full_at_ns, now_ns=now_ns, cost=cost) if full_at_ns >= now_ns else None
        return self.rate.allowed(row["full_at_ns"], now_ns=now_ns)

    def _take_first(self, key: str, *, cost: int, now_ns: int) -> Taken | None:
        """For an idle key; None where somebody else was first."""
        try:
            row = self._set(":now_ns + :charge_ns", key, when=IDLE, cost=cost, now_ns=now_ns)
        except ConditionFailed:
            return None
        return self.rate.allowed(row["full_at_ns"], now_ns=now_ns)

    def _set(self, full_at_ns: str, key: str, *, when: str, cost: int, now_ns: int) -> dict[str, int]:
        rate = self.rate
        return self.table.update(
            {"key": f"rate#{key}"},
            f"SET #full_at_ns = {full_at_ns}, #expires_at = :expires_at",
            when=when,
            values={
                "now_ns": now_ns,
                "charge_ns": cost * rate.interval_ns,
                "latest_ns": rate.latest_ns(now_ns, cost=cost),
                "expires_at": (now_ns + rate.most_ahead_ns) // _SECOND_NS + _KEPT_S,
            },
        )
