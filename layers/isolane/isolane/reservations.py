"""Seats in workshops: each request is decided once, by the store, and its first decision is its answer for ever.

    made = reservations.reserve("python", request_id="request-1", seats=2, caller="ann")
    made.attempt.decision, made.seats.reserved, made.replayed

Accepted is one transaction, which takes the seats and writes the attempt. Rejected is two: the first finds that there
are too few, the second writes the attempt and counts it, on rows that nobody has to wait for. Who meets another
transaction tries again, for up to 3 s; only seats that were seen to be too few are ever told as too few.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from isolane.aws.table import Table
from isolane.aws.transaction import Put, Update, transact
from isolane.contention import patience, persist
from isolane.deadline import Deadline
from isolane.errors import ConditionFailed, Conflict, IdempotencyMismatch, NotFound, TransactionRefused
from isolane.workshop import (
    COUNTERS_AND_WORKSHOP,
    FIRST_CAPACITY,
    Attempt,
    Decision,
    Seats,
    Status,
    attempt_key,
    check_capacity,
    check_request_id,
    check_seats,
    check_workshop,
    counter_key,
    decide,
    first_decision,
    status_range,
    to_attempt,
    to_row,
    to_seats,
    to_status,
    workshop_key,
)

# The clauses of the conditions, each with the race that it closes.

UNDECIDED = "attribute_not_exists(#pk)"
"""Two calls with one request id, or one that is sent again: the first decides, and nothing decides anew."""
ENOUGH_LEFT = "(attribute_not_exists(#available) OR #available >= :seats)"
"""Two who both see the last seat: the write that takes it is the one that looks."""
STILL_RESERVED = "#decision = :accepted AND attribute_not_exists(#canceled_at_ms)"
"""Two who both cancel, and a cancellation sent again: the seats come back once."""
HOLDS_WHAT_IS_RESERVED = "(attribute_not_exists(#reserved) OR #reserved <= :capacity)"
"""Seats that are taken while the capacity is lowered."""

TAKE = (
    "SET #capacity = if_not_exists(#capacity, :first), #available = if_not_exists(#available, :first) - :seats, "
    "#reserved = if_not_exists(#reserved, :zero) + :seats, #accepted = if_not_exists(#accepted, :zero) + :one"
)
"""Of a workshop that is new, too: nothing ever makes one that could be there already."""
GIVE_BACK = "SET #available = #available + :seats, #reserved = #reserved - :seats, #accepted = #accepted - :one"
RESIZE = (
    "SET #capacity = :capacity, #available = :capacity - if_not_exists(#reserved, :zero), "
    "#reserved = if_not_exists(#reserved, :zero)"
)


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A decision, and the workshop's seats as they were seen after it."""

    attempt: Attempt
    seats: Seats
    replayed: bool
    """Whether an earlier call was decided so, and not this one."""


@dataclass(frozen=True)
class Reservations:
    """All workshops of a deployment, in one table (State)."""

    table: Table
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], None] = time.sleep

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def reserve(
        self, workshop: str, *, request_id: str, seats: int, caller: str, deadline: Deadline | None = None
    ) -> Reservation:
        """Reserves the seats, all of them or none; the same request id again gets the first decision.

        Raises IdempotencyMismatch `request_mismatch` for an id that was used with another number of seats, Contended
        where it could not be decided in 3 s (or by the deadline), and Unavailable.
        """
        check_workshop(workshop)
        check_request_id(request_id)
        check_seats(seats)
        mine = Attempt(
            workshop=workshop,
            request_id=request_id,
            seats=seats,
            caller=caller,
            nonce=uuid4().hex,
            decision=Decision.ACCEPTED,
            decided_at_ms=self.now_ms(),
        )
        return self._answer(mine, until=patience(deadline))

    def cancel(
        self, workshop: str, *, request_id: str, owner: str | None, deadline: Deadline | None = None
    ) -> Reservation:
        """Gives the seats back, once; `owner` is who must have reserved them, None where that may be anybody.

        Raises NotFound for what is not that owner's, was rejected, or never was; Contended and Unavailable.
        """
        check_workshop(workshop)
        check_request_id(request_id)
        row = self.table.get(attempt_key(workshop, request_id))
        attempt = to_attempt(row) if row is not None else None
        if attempt is None or attempt.decision is Decision.REJECTED or owner not in (None, attempt.caller):
            raise NotFound("There is no such reservation.", code="reservation_not_found")
        if not attempt.canceled:
            persist(lambda: self._give_back(attempt), until=patience(deadline), sleep=self.sleep)
        return Reservation(attempt=attempt, seats=self._seats(workshop), replayed=attempt.canceled)

    def set_capacity(self, workshop: str, *, capacity: int, deadline: Deadline | None = None) -> Seats:
        """Changes how many seats there are. Raises Conflict `capacity_in_use` below what is reserved."""
        check_workshop(workshop)
        check_capacity(capacity)
        return persist(lambda: self._resize(workshop, capacity=capacity), until=patience(deadline), sleep=self.sleep)

    def status(self, workshop: str) -> Status:
        """How the workshop stands; one that nobody has touched is as a new one."""
        check_workshop(workshop)
        page = self.table.query(COUNTERS_AND_WORKSHOP, values=status_range(workshop), limit=100)
        return to_status(page.items)

    def _answer(self, mine: Attempt, *, until: Deadline) -> Reservation:
        found = persist(lambda: self._take(mine), until=until, sleep=self.sleep)
        if isinstance(found, Seats):
            decided = persist(lambda: self._reject(mine), until=until, sleep=self.sleep)
            if decided.nonce == mine.nonce:
                return Reservation(attempt=decided, seats=found, replayed=False)
            found = decided  # another call with this id was decided in between
        if found.seats != mine.seats:
            raise IdempotencyMismatch("This request id was used with other seats.", code="request_mismatch")
        return Reservation(attempt=found, seats=self._seats(mine.workshop), replayed=found.nonce != mine.nonce)

    def _take(self, mine: Attempt) -> Attempt | Seats:
        """The attempt as it is decided now, or the seats, which are too few."""
        try:
            transact(
                [
                    # Before the seats: where both refuse, some emulators tell the first one only.
                    Put(self.table, to_row(mine), when=UNDECIDED),
                    Update(
                        self.table,
                        workshop_key(mine.workshop),
                        TAKE,
                        when=ENOUGH_LEFT,
                        values={"first": FIRST_CAPACITY, "seats": mine.seats, "zero": 0, "one": 1},
                    ),
                ]
            )
        except TransactionRefused as refusal:
            return decide(refusal)
        return mine

    def _reject(self, mine: Attempt) -> Attempt:
        """The attempt as it is decided now: rejected, unless another call with its id was first."""
        rejected = mine.rejected()
        count = "SET #rejected = if_not_exists(#rejected, :zero) + :one"
        counter = counter_key(mine.workshop, mine.request_id)
        try:
            transact(
                [
                    Put(self.table, to_row(rejected), when=UNDECIDED),
                    Update(self.table, counter, count, values={"zero": 0, "one": 1}),
                ]
            )
        except TransactionRefused as refusal:
            return first_decision(refusal)
        return rejected

    def _give_back(self, attempt: Attempt) -> None:
        """Nothing where somebody else has done so."""
        try:
            transact(
                [
                    Update(
                        self.table,
                        attempt_key(attempt.workshop, attempt.request_id),
                        "SET #canceled_at_ms = :now_ms",
                        when=STILL_RESERVED,
                        values={"now_ms": self.now_ms(), "accepted": str(Decision.ACCEPTED)},
                    ),
                    Update(
                        self.table,
                        workshop_key(attempt.workshop),
                        GIVE_BACK,
                        values={"seats": attempt.seats, "one": 1},
                    ),
                ]
            )
        except TransactionRefused:
            return

    def _resize(self, workshop: str, *, capacity: int) -> Seats:
        values = {"capacity": capacity, "zero": 0}
        try:
            row = self.table.update(workshop_key(workshop), RESIZE, when=HOLDS_WHAT_IS_RESERVED, values=values)
        except ConditionFailed:
            raise Conflict("More seats than that are reserved.", code="capacity_in_use") from None
        return to_seats(row)

    def _seats(self, workshop: str) -> Seats:
        return to_seats(self.table.get(workshop_key(workshop)))
