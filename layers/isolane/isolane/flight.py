"""Single flight: of all who want one value at the same time one makes it, and the others wait for it.

    with flights.boarded(key, lease_s=30) as found:
        match found:
            case Landed(value=value): ...              # somebody has made it: use it
            case Airborne(): ...                       # somebody is making it: come again
            case Flight() as flight: ...; flights.land(flight, value, ttl_s=3_600)

The flight is the value's own row in Values: without a value, with a holder and a lease instead. Whoever writes it first
makes the value, and lands by putting it there. Whoever leaves the block without having landed gives the row up, and the
next one takes over; so it does where the lease has lapsed, for its holder is dead, or has to have stopped by then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from isolane.errors import ConditionFailed, Contended, Unavailable
from isolane.kv import Values
from isolane.observability import logger
from isolane.semaphore import SKEW_MS

# The clauses of the conditions, each with the race that it closes.

NOTHING_THERE = "(attribute_not_exists(#key) OR #expires_at <= :now_s)"
"""Two who board at once; and a value that is expired, which TTL deletes late."""
ITS_LEASE_LAPSED = "#flight_until_ms <= :lapsed_ms"
"""A holder that died; by the margin for clocks that differ, one that only lives slowly has stopped."""
STILL_MINE = "#flight = :flight"
"""A holder that outlived its lease must not take the row from whoever has it by now, nor delete the value."""

_ROW_MARGIN_S = 60


@dataclass(kw_only=True)
class Flight:
    """The value is mine to make, until then."""

    key: str
    holder: str
    until_ms: int
    landed: bool = False


@dataclass(frozen=True, kw_only=True)
class Airborne:
    """Another is making it."""


@dataclass(frozen=True, kw_only=True)
class Landed:
    """It is there."""

    value: Any


Boarded: TypeAlias = Flight | Airborne | Landed


@dataclass(frozen=True)
class Flights:
    """The flights to the values of one table."""

    values: Values

    def now_ms(self) -> int:
        return int(self.values.clock() * 1000)

    def board(self, key: str, *, holder: str, lease_s: float) -> Boarded:
        """Takes the flight, or says what is there instead. One write. Raises Unavailable and Contended."""
        now_ms = self.now_ms()
        until_ms = now_ms + int(lease_s * 1000)
        expires_at = math.ceil((until_ms + SKEW_MS) / 1000) + _ROW_MARGIN_S
        row = {"flight": holder, "flight_until_ms": until_ms, "expires_at": expires_at}
        try:
            self.values.table.put(
                {**self.values.row_key(key), **row},
                when=f"{NOTHING_THERE} OR {ITS_LEASE_LAPSED}",
                values={"now_s": now_ms // 1000, "lapsed_ms": now_ms - SKEW_MS},
            )
        except ConditionFailed as refusal:
            return self._read_refusal(refusal.found or {}, key=key, holder=holder)
        return Flight(key=key, holder=holder, until_ms=until_ms)

    @contextmanager
    def boarded(self, key: str, *, lease_s: float) -> Iterator[Boarded]:
        """`board` for a block; a flight that has not landed by its end is given up, also on an error."""
        found = self.board(key, holder=uuid4().hex, lease_s=lease_s)
        try:
            yield found
        finally:
            if isinstance(found, Flight) and not found.landed:
                self._let_go(found)

    def land(self, flight: Flight, value: Any, *, ttl_s: int) -> None:
        """Puts the value there for `ttl_s` seconds, over whatever there is: it is as good as any other."""
        self.values.put(flight.key, value, ttl_s=ttl_s)
        flight.landed = True

    def give_up(self, flight: Flight) -> None:
        """Lets another make the value at once; does nothing where the flight is not mine any more."""
        try:
            self.values.table.delete(self.values.row_key(flight.key), when=STILL_MINE, values={"flight": flight.holder})
        except ConditionFailed:
            return

    def _read_refusal(self, row: Mapping[str, Any], *, key: str, holder: str) -> Boarded:
        if row.get("flight") == holder:  # the first try was applied and its answer lost
            return Flight(key=key, holder=holder, until_ms=row["flight_until_ms"])
        value = self.values.live(row)
        return Landed(value=value) if value is not None else Airborne()

    def _let_go(self, flight: Flight) -> None:
        try:
            self.give_up(flight)
        except (Unavailable, Contended) as error:  # the lease lapses by itself
            logger().warning("a flight was not given up", extra={"error": type(error).__name__})
