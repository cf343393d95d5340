"""Reservations against a small model in memory: any order of requests, replays, cancellations and capacities.

The machine runs the real thing on moto and says beforehand what must come of each step; now and then an answer is lost.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from moto import mock_aws

from isolane.errors import Conflict, IdempotencyMismatch, NotFound, Unavailable
from isolane.reservations import Reservation, Reservations
from isolane.workshop import Seats
from tests.faults.clients import connect
from tests.faults.failing_client import Process, at
from tests.faults.faults import LoseAnswer
from tests.faults.schedule import share
from tests.world import World

BOUNDED = settings(max_examples=share(150), stateful_step_count=30, deadline=None)
IDS = st.sampled_from([f"request-{number}" for number in range(8)])
CALLERS = st.sampled_from(["ann", "bob"])


@dataclass
class Record:
    """A decision."""

    seats: int
    caller: str
    accepted: bool
    canceled: bool = False


@dataclass
class Model:
    """What a workshop promises."""

    capacity: int = 4
    records: dict[str, Record] = field(default_factory=dict)

    @property
    def holding(self) -> list[Record]:
        return [record for record in self.records.values() if record.accepted and not record.canceled]

    @property
    def reserved(self) -> int:
        return sum(record.seats for record in self.holding)

    def reserve(self, request_id: str, *, seats: int, caller: str) -> tuple[str, bool] | None:
        """The decision and whether it is a replay; None where the id was used with other seats."""
        new = Record(seats=seats, caller=caller, accepted=self.reserved + seats <= self.capacity)
        replayed = request_id in self.records
        record = self.records.setdefault(request_id, new)
        return ("accepted" if record.accepted else "rejected", replayed) if record.seats == seats else None

    def cancel(self, request_id: str, *, owner: str | None) -> bool:
        record = self.records.get(request_id)
        if record is None or not record.accepted or owner not in (None, record.caller):
            return False
        record.canceled = True
        return True


class WorkshopMachine(RuleBasedStateMachine):
    """Each command is given to both, and both must say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        self.world = World(partial(connect, signed=False))
        self.world.make_tables()
        self.workshops = Reservations(self.world.state, self.world.clock)
        self.model = Model()

    def teardown(self) -> None:
        self.stack.close()

    def told(self, request_id: str, *, seats: int, caller: str) -> Reservation | None:
        try:
            return self.workshops.reserve("python", request_id=request_id, seats=seats, caller=caller)
        except IdempotencyMismatch:
            return None

    @rule(request_id=IDS, seats=st.integers(1, 4), caller=CALLERS)
    def reserve(self, request_id: str, seats: int, caller: str) -> None:
        expected = self.model.reserve(request_id, seats=seats, caller=caller)
        made = self.told(request_id, seats=seats, caller=caller)
        assert (made and (str(made.attempt.decision), made.replayed)) == expected
        if made is not None:
            assert made.seats == Seats(capacity=self.model.capacity, reserved=self.model.reserved)

    @rule(request_id=IDS, seats=st.integers(1, 4), caller=CALLERS, nth=st.integers(1, 3), again=st.booleans())
    def reserve_and_lose_an_answer(self, request_id: str, seats: int, caller: str, nth: int, again: bool) -> None:
        """Whoever is not answered asks again; who loses the answer inside one request does not notice."""
        with Process(plan=at(nth, LoseAnswer(how="timeout", retry=again))).attached(self.world.client("dynamodb")):
            try:
                made = self.told(request_id, seats=seats, caller=caller)
            except Unavailable:
                made = self.told(request_id, seats=seats, caller=caller)
        expected = self.model.reserve(request_id, seats=seats, caller=caller)
        assert (made and str(made.attempt.decision)) == (expected and expected[0])
        if again and made is not None and expected is not None:
            assert made.replayed == expected[1]

    @rule(request_id=IDS, owner=CALLERS | st.none())
    def cancel(self, request_id: str, owner: str | None) -> None:
        expected = self.model.cancel(request_id, owner=owner)
        try:
            canceled: Any = self.workshops.cancel("python", request_id=request_id, owner=owner)
        except NotFound:
            canceled = None
        assert (canceled is not None) == expected
        if canceled is not None:
            assert canceled.seats.reserved == self.model.reserved

    @rule(capacity=st.integers(0, 12))
    def resize(self, capacity: int) -> None:
        try:
            self.workshops.set_capacity("python", capacity=capacity)
        except Conflict:
            assert capacity < self.model.reserved
        else:
            assert capacity >= self.model.reserved
            self.model.capacity = capacity

    @invariant()
    def counters_equal_records(self) -> None:
        status, model = self.workshops.status("python"), self.model
        assert status.seats == Seats(capacity=model.capacity, reserved=model.reserved)
        assert status.accepted == len(model.holding)
        assert status.rejected == sum(not record.accepted for record in model.records.values())
        assert status.seats.reserved <= status.seats.capacity


TestReservations = WorkshopMachine.TestCase
TestReservations.settings = BOUNDED
