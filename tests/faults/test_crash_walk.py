"""The crash walk: a flow that loses something is caught, a sound one is not, and the table tells of it."""

from typing import Any

import pytest

from tests.faults.clients import connect
from tests.faults.conftest import Toy
from tests.faults.crash_walk import (
    CONFLICTS,
    LOST_ANSWERS,
    REFUSALS,
    CrashWalkFailed,
    NotDeterministic,
    crash_walk,
    strike,
)
from tests.faults.failing_client import Process
from tests.faults.faults import CrashAfter
from tests.faults.results import Results, Row
from tests.faults.visibility import reveal_messages


class Hand:
    """A flow: take the message about `a`, count it, acknowledge it; redelivered until the queue is empty."""

    name = "count a message"

    def __init__(self, toy: Toy, *, acknowledge_first: bool = False, once: bool = True) -> None:
        self._toy = toy
        self._acknowledge_first = acknowledge_first
        self._once = once

    def setup(self) -> Toy:
        self._toy.dynamodb.delete_item(TableName="things", Key={"id": {"S": "a"}})
        self._toy.drain()
        self._toy.sqs.send_message(QueueUrl=self._toy.queue_url, MessageBody="a")
        return self._toy

    def run(self, world: Toy, process: Process) -> None:
        dynamodb, sqs = connect("dynamodb"), connect("sqs")
        with process.attached(dynamodb, sqs):
            self._deliver(world, dynamodb=dynamodb, sqs=sqs)

    def recover(self, world: Toy) -> None:
        reveal_messages()
        while world.messages():
            self._deliver(world, dynamodb=world.dynamodb, sqs=world.sqs)

    def invariants(self, world: Toy) -> None:
        assert world.number("a") == 1, f"counted {world.number('a')} times"

    def _deliver(self, world: Toy, *, dynamodb: Any, sqs: Any) -> None:
        taken = sqs.receive_message(QueueUrl=world.queue_url)["Messages"][0]
        acknowledge = {"QueueUrl": world.queue_url, "ReceiptHandle": taken["ReceiptHandle"]}
        if self._acknowledge_first:
            sqs.delete_message(**acknowledge)
        self._count(dynamodb, key=taken["Body"])
        if not self._acknowledge_first:
            sqs.delete_message(**acknowledge)

    def _count(self, dynamodb: Any, *, key: str) -> None:
        update: dict[str, Any] = {"TableName": "things", "Key": {"id": {"S": key}}}
        names = {"ExpressionAttributeNames": {"#value": "value"}, "ExpressionAttributeValues": {":one": {"N": "1"}}}
        expression = "SET #value = :one" if self._once else "ADD #value :one"
        dynamodb.update_item(**update, UpdateExpression=expression, **names)


def test_a_sound_flow_survives_a_death_at_every_point(toy: Toy) -> None:
    report = crash_walk(Hand(toy)).check()
    assert ([call.operation for call in report.calls], report.points) == (
        ["ReceiveMessage", "UpdateItem", "DeleteMessage"],
        6,
    )


def test_a_sound_flow_survives_lost_answers_refusals_and_conflicts(toy: Toy) -> None:
    report = crash_walk(Hand(toy), faults=[*LOST_ANSWERS, *REFUSALS, *CONFLICTS]).check()
    assert report.points == 3 * len([*LOST_ANSWERS, *REFUSALS]) + 1


def test_an_acknowledgement_before_the_work_loses_the_message(toy: Toy) -> None:
    with pytest.raises(CrashWalkFailed) as caught:
        crash_walk(Hand(toy, acknowledge_first=True)).check()
    told = str(caught.value).splitlines()
    assert told[0] == "count a message: AssertionError: counted 0 times"
    assert told[-2].endswith("(run): ok   <- dies after")
    assert told[-1] == "  strike(flow, index=2, fault=CrashAfter(times=1, retry=None))"


def test_a_count_that_is_not_idempotent_counts_twice(toy: Toy) -> None:
    flow = Hand(toy, once=False)
    found = crash_walk(flow, keep_going=True).wounds
    assert [(wound.index, str(wound.fault)) for wound in found] == [(2, "dies after"), (3, "dies before")]
    again = strike(flow, index=2, fault=CrashAfter())
    assert again is not None
    assert str(again).startswith("count a message: AssertionError: counted 2 times\n")


def test_a_flow_that_fails_undisturbed_is_told_without_a_fault(toy: Toy) -> None:
    class Wrong(Hand):
        def invariants(self, world: Toy) -> None:
            assert world.messages() == -1

    report = crash_walk(Wrong(toy))
    assert (report.points, report.wounds[0].fault) == (0, None)


def test_a_flow_that_changes_its_calls_is_refused(toy: Toy) -> None:
    class Fickle(Hand):
        runs = 0

        def run(self, world: Toy, process: Process) -> None:
            Fickle.runs += 1
            with process.attached(world.dynamodb):
                if Fickle.runs == 1:
                    world.number("a")
                world.put("a", value=1)

    with pytest.raises(NotDeterministic, match="call 1 was GetItem"):
        crash_walk(Fickle(toy), keep_going=True)


def test_the_table_puts_the_walks_of_one_flow_together() -> None:
    results = Results()
    results.add(Row(flow="submit", crash_points=8, seconds=0.25))
    results.add(Row(flow="submit", interleavings=20, seconds=0.5))
    results.add(Row(flow="deliver", schedules=200, violations=1, seconds=1, notes="seed 7"))
    assert results.table().splitlines() == [
        "flow     crash points  interleavings  schedules  violations  time   notes",
        "-------  ------------  -------------  ---------  ----------  -----  ------",
        "submit   8             20                        0           0.8 s",
        "deliver                               200        1           1.0 s  seed 7",
        "total    8             20             200        1           1.8 s",
    ]
