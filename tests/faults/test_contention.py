"""Reservations and objects whose calls meet others, or are not answered: decided in time, or told to come again."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from isolane.aws.transaction import Put, transact
from isolane.deadline import Deadline
from isolane.errors import Contended, TransactionRefused, Unavailable
from isolane.objects import Objects
from isolane.reservations import Reservation, Reservations
from isolane.workshop import Decision
from objects.tickets import Tickets
from tests.faults.calls import Call
from tests.faults.clients import connect, new_client
from tests.faults.failing_client import Plan, Process, at
from tests.faults.faults import CancelTransaction, Conflict, Deliver, Fault, LoseAnswer, Refuse
from tests.faults.quick import quick_moto
from tests.faults.wire import Reason, WireError
from tests.world import Clock, World

CONFLICTS = 0.3
REQUESTS = 150
FULL: Reason = {"Code": "ConditionalCheckFailed", "Item": {"capacity": {"N": "4"}, "reserved": {"N": "4"}}}


@pytest.fixture
def world() -> Iterator[World]:
    with quick_moto():
        world = World(partial(connect, signed=False))
        world.make_tables()
        yield world


def reserve(world: World, request_id: str, *, seats: int = 1) -> Reservation:
    return Reservations(world.state).reserve("python", request_id=request_id, seats=seats, caller="ann")


def under(world: World, plan: Plan, work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What work returns while its calls fare as planned, and which calls it made."""
    process = Process(plan=plan)
    with process.attached(world.client("dynamodb")):
        value = work()
    return value, [call.operation for call in process.calls]


def thrown(seed: int) -> Plan:
    """Each write meets another transaction with a chance of 30 %, on one of its items."""
    dice = random.Random(seed)

    def plan(call: Call) -> Fault | None:
        conflict = Conflict(item=dice.randrange(2))
        return conflict if conflict.fits(call) and dice.random() < CONFLICTS else None

    return plan


def test_with_three_in_ten_writes_in_conflict_every_request_is_decided_in_time_and_rightly(world: World) -> None:
    seats = random.Random(6)
    wanted = {f"request-{number}": seats.randint(1, 4) for number in range(REQUESTS)}
    world.reservations.set_capacity("python", capacity=100)
    left, longest_s, calls = 100, 0.0, Counter[str]()
    for number, (name, count) in enumerate(wanted.items()):
        began_s = time.monotonic()
        made, operations = under(world, thrown(number), partial(reserve, world, name, seats=count))
        longest_s = max(longest_s, time.monotonic() - began_s)
        calls.update(operations)
        assert made.attempt.decision == (Decision.ACCEPTED if count <= left else Decision.REJECTED)
        assert not made.replayed
        left -= count if made.attempt.decision is Decision.ACCEPTED else 0
    assert left == 0
    assert longest_s < 3
    assert calls["TransactWriteItems"] > REQUESTS * 1.2, "conflicts were to be met"
    status = world.reservations.status("python")
    assert status.seats.reserved == 100
    assert status.accepted + status.rejected == REQUESTS


@pytest.mark.parametrize("before", [[], ["others"]])
def test_a_conflict_that_does_not_end_is_told_as_one_in_time_and_never_as_full(world: World, before: list[str]) -> None:
    clock = Clock()
    for name in before:
        reserve(world, name, seats=4)
    workshops = Reservations(world.state, sleep=clock.advance)

    def plan(call: Call) -> Fault | None:
        return Conflict() if call.operation == "TransactWriteItems" else None

    began_s = clock()
    with pytest.raises(Contended):
        under(
            world,
            plan,
            lambda: workshops.reserve(
                "python", request_id="request-1", seats=1, caller="ann", deadline=Deadline.after(25, clock=clock)
            ),
        )
    assert clock() - began_s == pytest.approx(3)
    assert not reserve(world, "request-1").replayed


def test_a_deadline_that_comes_sooner_is_kept(world: World) -> None:
    clock = Clock()
    workshops = Reservations(world.state, sleep=clock.advance)
    began_s = clock()
    with pytest.raises(Contended):
        under(
            world,
            lambda _: Conflict(),
            lambda: workshops.set_capacity("python", capacity=7, deadline=Deadline.after(0.5, clock=clock)),
        )
    assert clock() - began_s == pytest.approx(0.5)


@pytest.mark.parametrize("how", ["reset", "timeout", "server error"])
@pytest.mark.parametrize(("others", "nth", "decision"), [(0, 1, "accepted"), (4, 2, "rejected")])
def test_an_answer_that_was_lost_inside_one_request_is_no_replay(
    world: World, others: int, nth: int, decision: str, how: Any
) -> None:
    if others:
        reserve(world, "others", seats=others)
    lost = at(nth, LoseAnswer(how=how, retry=True))
    made, _ = under(world, lost, partial(reserve, world, "request-1"))
    assert (made.attempt.decision, made.replayed) == (decision, False)
    assert reserve(world, "request-1").replayed


@pytest.mark.parametrize(("others", "nth"), [(0, 1), (4, 2)])
def test_an_answer_that_was_lost_for_good_is_a_replay_for_who_asks_again(world: World, others: int, nth: int) -> None:
    if others:
        reserve(world, "others", seats=others)
    with pytest.raises(Unavailable):
        under(world, at(nth, LoseAnswer(how="timeout", retry=False)), partial(reserve, world, "request-1"))
    again = reserve(world, "request-1")
    assert (again.replayed, again.attempt.decision) == (True, "rejected" if others else "accepted")


@pytest.mark.parametrize(
    ("reasons", "error"),
    [
        (["TransactionConflict", None], Contended),
        ([None, "TransactionConflict"], Contended),
        (["TransactionConflict", FULL], TransactionRefused),
        (["ThrottlingError", None], Unavailable),
        (["TransactionConflict", "ThrottlingError"], Unavailable),
        (["ProvisionedThroughputExceeded", FULL], Unavailable),
    ],
)
def test_a_canceled_transaction_is_what_its_reasons_say(
    world: World, reasons: list[Reason], error: type[Exception]
) -> None:
    """Throttling is not tried again at once, whatever stands beside it; a condition that did not hold is a fact."""
    writes = [Put(world.state, {"pk": name, "sk": name}) for name in "ab"]
    with pytest.raises(error):
        under(world, at(1, CancelTransaction(reasons=reasons, times=None, retry=False)), lambda: transact(writes))


def test_throttling_is_not_fed_by_trying_again(world: World) -> None:
    process = Process(plan=lambda _: CancelTransaction(reasons=["ThrottlingError", None], times=None, retry=False))
    with process.attached(world.client("dynamodb")), pytest.raises(Unavailable):
        reserve(world, "request-1")
    assert len(process.calls) == 1


def test_a_token_that_is_mistaken_for_anothers_costs_one_more_try(world: World) -> None:
    """DynamoDB Local says so at random (D12); each call has a token of its own."""
    mistaken = Refuse(error=WireError(code="IdempotentParameterMismatchException"), times=None, retry=False)
    made, operations = under(world, at(1, mistaken), partial(reserve, world, "request-1"))
    assert not made.replayed
    assert operations == ["TransactWriteItems", "TransactWriteItems", "GetItem"]


def test_full_beside_a_conflict_is_a_fact_and_recorded_as_one(world: World) -> None:
    reserve(world, "others", seats=4)
    both = CancelTransaction(reasons=["TransactionConflict", FULL], times=None, retry=False)
    made, operations = under(world, at(1, both), partial(reserve, world, "request-1"))
    assert made.attempt.decision is Decision.REJECTED
    assert operations == ["TransactWriteItems", "TransactWriteItems"]


# Named objects


def take(world: World, command: str | None = None) -> int:
    return world.objects.get(Tickets, "counter:1", command=command).next()


@pytest.mark.parametrize("command", [None, "call-1"])
@pytest.mark.parametrize("how", ["reset", "timeout", "server error"])
def test_a_change_whose_answer_was_lost_inside_one_call_is_made_once(
    world: World, command: str | None, how: Any
) -> None:
    value, _ = under(world, at(2, LoseAnswer(how=how, retry=True)), partial(take, world, command))
    assert value == 1
    assert world.objects.get(Tickets, "counter:1").value == 1


@dataclass(frozen=True, kw_only=True)
class LoseAnswerAndBeOvertaken(LoseAnswer):
    """The call is applied, its answer is lost, and before it is sent again somebody else has changed the item."""

    retry: bool | None = True
    happens: Callable[[], object]

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        def applied_and_overtaken() -> AWSResponse:
            answer = deliver()
            self.happens()
            return answer

        return super().on_send(call, request, applied_and_overtaken)


def somebody_else(world: World) -> World:
    """The same tables, by a client of another process."""
    client = new_client("dynamodb", signed=False)
    return World(lambda _: client, clock=world.clock, suffix=world.suffix)


def test_a_change_that_was_lost_and_overtaken_is_told_as_unknown_and_never_made_twice(world: World) -> None:
    fault = LoseAnswerAndBeOvertaken(happens=partial(take, somebody_else(world)))
    with pytest.raises(Unavailable):
        under(world, at(2, fault), partial(take, world))
    assert world.objects.get(Tickets, "counter:1").value == 2, "one for each of the two"


def test_by_a_command_it_is_known_all_the_same(world: World) -> None:
    fault = LoseAnswerAndBeOvertaken(happens=partial(take, somebody_else(world)))
    value, _ = under(world, at(2, fault), partial(take, world, "call-1"))
    assert (value, world.objects.get(Tickets, "counter:1").value) == (1, 2)
    assert take(world, "call-1") == 1


@pytest.mark.parametrize("command", [None, "call-1"])
def test_an_object_that_is_always_busy_is_told_as_that_after_3_seconds(world: World, command: str | None) -> None:
    clock = Clock()
    objects = Objects(world.state, world.values.table, world.clock, clock.advance)
    deadline, began_s = Deadline.after(25, clock=clock), clock()
    with pytest.raises(Contended):
        under(
            world,
            lambda _: Conflict(),
            lambda: objects.get(Tickets, "counter:1", command=command, deadline=deadline).next(),
        )
    assert clock() - began_s == pytest.approx(3)
    assert world.objects.get(Tickets, "counter:1").value == 0


def test_whatever_happens_to_the_store_the_next_call_sees_what_is_there(world: World) -> None:
    """No error leaves an old copy behind (E19): there is none."""
    objects = Objects(world.state, world.values.table, world.clock)
    with pytest.raises(Unavailable):
        under(
            world,
            at(2, LoseAnswer(how="timeout", retry=False)),
            lambda: objects.get(Tickets, "counter:1").next(),
        )
    take(somebody_else(world))
    assert objects.get(Tickets, "counter:1").next() == 3
