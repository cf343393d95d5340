"""Refusing what would wait too long, from numbers that are at most five seconds old."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isolane.aws.queue import Queue
from isolane.backlog import Backlog
from isolane.errors import Overloaded
from tests.counting import Counted, counted
from tests.waiting import wait_until
from tests.world import Clock, World, receive


@pytest.fixture
def queue(whole_world: World) -> Queue:
    return whole_world.make_queue("scores")


@pytest.fixture
def clock() -> Clock:
    return Clock(0.0)


@pytest.fixture
def backlog(whole_world: World, queue: Queue, clock: Clock) -> Backlog:
    return Backlog(queue=queue, values=whole_world.values, name="score", at_once=2, longest_wait_s=9, clock=clock)


@pytest.fixture
def calls(whole_world: World) -> Iterator[Counted]:
    with counted(whole_world.client("dynamodb"), whole_world.client("sqs")) as counter:
        yield counter


def fill(queue: Queue, *, messages: int) -> None:
    for number in range(messages):
        queue.send(str(number))
    wait_until(lambda: queue.depth().visible == messages, description="all messages wait")


def test_where_nobody_has_worked_yet_nothing_is_refused(backlog: Backlog, queue: Queue) -> None:
    fill(queue, messages=5)
    backlog.admit()
    assert backlog.wait_s() is None


def test_what_would_wait_too_long_is_refused_with_a_time_to_come_back(
    backlog: Backlog, queue: Queue, clock: Clock
) -> None:
    backlog.worked(5.0)
    fill(queue, messages=3)
    backlog.admit()
    assert backlog.wait_s() == pytest.approx(7.5)
    fill_up = 5
    for _ in range(fill_up - 3):
        queue.send("more")
    wait_until(lambda: queue.depth().visible == fill_up, description="all messages wait")
    clock.advance(5)
    with pytest.raises(Overloaded) as refusal:
        backlog.admit()
    assert refusal.value.retry_after_s == 4


def test_messages_that_were_put_off_wait_as_well(backlog: Backlog, queue: Queue) -> None:
    backlog.worked(5.0)
    fill(queue, messages=5)
    assert len(receive(queue, most=5)) == 5
    wait_until(lambda: queue.depth().in_flight == 5, description="all messages are in flight")
    assert backlog.wait_s() == pytest.approx(7.5), "two are worked on"


def test_the_numbers_are_looked_up_at_most_once_in_five_seconds(backlog: Backlog, calls: Counted, clock: Clock) -> None:
    for _ in range(50):
        backlog.admit()
        clock.advance(0.099)
    assert calls.operations == ["GetItem"], "without a pace the queue is not asked"
    clock.advance(5)
    backlog.admit()
    assert calls.operations == ["GetItem", "GetItem"]


def test_the_pace_is_told_at_most_once_in_five_seconds_and_is_an_average(
    backlog: Backlog, calls: Counted, clock: Clock, whole_world: World
) -> None:
    for seconds in (1.0, 2.0, 2.0):
        backlog.worked(seconds)
    assert calls.operations == ["PutItem"]
    clock.advance(5)
    backlog.worked(2.0)
    assert calls.operations == ["PutItem"] * 2
    assert whole_world.values.get("pace#score") == {"seconds": pytest.approx(1.488)}


def test_without_a_longest_wait_nothing_is_asked_or_told(whole_world: World, queue: Queue, calls: Counted) -> None:
    backlog = Backlog(queue=queue, values=whole_world.values, name="score", at_once=2, longest_wait_s=0)
    backlog.worked(1.0)
    backlog.admit()
    assert calls.operations == []
