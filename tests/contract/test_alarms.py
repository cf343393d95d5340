"""An object's alarm rings at its time, once, whatever becomes of messages and processes on the way."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

import objects.alarms
from isolane.alarms import LONGEST_DELAY_S, MOST_RETRIES, NEAR_S, Alarm
from isolane.errors import Conflict
from isolane.objects import Objects
from objects.digest import QUIET_MS, Digest
from objects.room import Room
from tests.application import Application
from tests.counting import counted
from tests.world import World, receive

LOBBY = "room:lobby"


class Stubborn:
    """Its alarm fails."""

    def __init__(self) -> None:
        self.alarm_at_ms: int | None = None

    def wake_at(self, at_ms: int) -> None:
        self.alarm_at_ms = at_ms

    def alarm(self) -> None:
        raise RuntimeError


class Recurrent:
    """Its alarm sets the next one."""

    def __init__(self) -> None:
        self.rung = 0
        self.alarm_at_ms: int | None = None

    def start(self, at_ms: int) -> None:
        self.alarm_at_ms = at_ms

    def alarm(self) -> None:
        self.rung += 1
        self.alarm_at_ms = 10_000 * self.rung


@pytest.fixture
def app(whole_world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    for kind in (Stubborn, Recurrent):
        monkeypatch.setitem(objects.alarms.KINDS, kind.__name__, kind)
    app = Application(whole_world)
    yield app
    for queue in (app.queue, app.dead, app.alarms, app.failed_alarms):
        queue.client.delete_queue(QueueUrl=queue.url)


def things(app: Application) -> Objects:
    return app.bindings.objects


def now_ms(app: Application) -> int:
    return things(app).now_ms()


def set_alarm(app: Application, *, in_s: float) -> int:
    at_ms = now_ms(app) + int(in_s * 1000)
    things(app).get(Room, LOBBY).close_at(at_ms)
    return at_ms


def closed(app: Application) -> bool:
    return things(app).get(Room, LOBBY).closed


def message(alarm: Alarm) -> dict[str, Any]:
    """A delivery of an alarm's message, by whomever it was sent."""
    body = {"kind": alarm.kind, "name": alarm.name, "atMs": alarm.at_ms, "retries": alarm.retries}
    return {"messageId": "m", "receiptHandle": "none", "body": json.dumps(body), "attributes": {}}


def ring(app: Application, at_ms: int, *, kind: str = "Room", name: str = LOBBY, retries: int = 0) -> list[Any]:
    answer = app.ring([message(Alarm(kind=kind, name=name, at_ms=at_ms, retries=retries))])
    return list(answer["batchItemFailures"])


def sent(app: Application) -> list[Any]:
    """The messages of alarms that are visible now, by their bodies."""
    return [json.loads(record["body"]) for record in receive(app.alarms)]


def waiting(app: Application) -> int:
    depth = app.alarms.depth()
    return depth.visible + depth.delayed


def near(app: Application) -> list[Any]:
    return list(app.bindings.alarms.near(now_ms=now_ms(app)))


def test_an_alarm_that_is_due_is_a_message_and_rings_once(app: Application) -> None:
    at_ms = set_alarm(app, in_s=0)
    assert sent(app) == [{"kind": "Room", "name": LOBBY, "atMs": at_ms, "retries": 0}]
    for _ in range(2):
        assert ring(app, at_ms) == []
        assert closed(app)
    row = app.world.state.get({"pk": f"object#Room#{LOBBY}", "sk": "object"})
    assert row is not None
    assert row["version"] == 2, "the second delivery changed nothing"
    assert near(app) == []


@pytest.mark.parametrize(("in_s", "messages"), [(1, 1), (LONGEST_DELAY_S, 1), (LONGEST_DELAY_S + 1, 0)])
def test_one_within_15_minutes_is_one_delayed_message_and_one_beyond_is_none(
    app: Application, in_s: int, messages: int
) -> None:
    set_alarm(app, in_s=in_s)
    assert (waiting(app), sent(app)) == (messages, [])


def test_a_change_with_an_alarm_is_three_calls_and_one_without_is_two(app: Application) -> None:
    with counted(app.world.client("dynamodb"), app.world.client("sqs")) as calls:
        set_alarm(app, in_s=60)
        assert calls.operations == ["GetItem", "PutItem", "SendMessage"]
        things(app).get(Room, LOBBY).join("tom")
        assert calls.operations[3:] == ["GetItem", "PutItem"]


def test_it_does_not_ring_before_its_time(app: Application) -> None:
    at_ms = set_alarm(app, in_s=5)
    app.world.clock.advance(4.5)
    assert len(ring(app, at_ms)) == 1, "to be delivered again"
    assert not closed(app)
    app.world.clock.advance(0.5)
    assert ring(app, at_ms) == []
    assert closed(app)


def test_one_that_was_moved_rings_at_its_new_time_alone(app: Application) -> None:
    first_ms, second_ms = set_alarm(app, in_s=5), set_alarm(app, in_s=60)
    app.world.clock.advance(5)
    assert ring(app, first_ms) == []
    assert not closed(app)
    app.world.clock.advance(55)
    ring(app, second_ms)
    assert closed(app)


def test_one_that_was_deleted_does_not_ring(app: Application) -> None:
    digest = things(app).get(Digest, "digest:1")
    digest.add("one", now_ms=now_ms(app))
    at_ms = now_ms(app) + QUIET_MS
    app.world.clock.advance(QUIET_MS / 1000)
    ring(app, at_ms, kind="Digest", name="digest:1")
    digest.add("two", now_ms=now_ms(app))
    assert ring(app, at_ms, kind="Digest", name="digest:1") == []
    assert (digest.flushed, digest.lines) == ([["one"]], ["two"])


def test_a_digest_is_flushed_when_no_line_has_come_for_a_minute(app: Application) -> None:
    digest, due_ms = things(app).get(Digest, "digest:1"), []
    for line in ("one", "two", "three"):
        digest.add(line, now_ms=now_ms(app))
        due_ms.append(now_ms(app) + QUIET_MS)
        app.world.clock.advance(30)
    app.world.clock.advance(30)
    for at_ms in due_ms:
        ring(app, at_ms, kind="Digest", name="digest:1")
    assert (digest.flushed, digest.lines) == ([["one", "two", "three"]], [])


def test_an_alarm_may_set_the_next_one(app: Application) -> None:
    thing = things(app).get(Recurrent, "r")
    thing.start(now_ms(app))
    ring(app, now_ms(app), kind="Recurrent", name="r")
    assert (thing.rung, thing.alarm_at_ms) == (1, 10_000)
    ring(app, 10_000, kind="Recurrent", name="r")
    assert (thing.rung, thing.alarm_at_ms) == (2, 20_000)
    assert [each["atMs"] for each in sent(app)][1:] == [10_000, 20_000]


def test_one_that_fails_is_tried_again_after_2_4_8_seconds_six_times_and_then_put_aside(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    things(app).get(Stubborn, "s").wake_at(now_ms(app))
    pauses: list[int] = []
    queue = type(app.alarms)
    monkeypatch.setattr(queue, "send", _noting(queue.send, pauses))
    for retries in range(MOST_RETRIES + 1):
        assert ring(app, now_ms(app), kind="Stubborn", name="s", retries=retries) == []
    assert pauses == [2, 4, 8, 16, 32, 64, 0]
    (letter,) = receive(app.failed_alarms)
    assert json.loads(letter["body"])["name"] == "s"
    assert letter["messageAttributes"]["reason"]["stringValue"] == "alarm_failed"
    assert things(app).get(Stubborn, "s").alarm_at_ms is not None, "what failed has not happened"


def _noting(send: Any, pauses: list[int]) -> Any:
    def noted(self: Any, body: str, *, delay_s: int = 0, **more: Any) -> None:
        pauses.append(delay_s)
        send(self, body, delay_s=delay_s, **more)

    return noted


@pytest.mark.parametrize("body", ["{}", '{"kind": "Nothing", "name": "a", "atMs": 1, "retries": 0}', '{"kind": 1}'])
def test_a_message_that_is_no_alarm_is_put_aside(app: Application, body: str) -> None:
    record = {**message(Alarm(kind="", name="", at_ms=0)), "body": body}
    assert app.ring([record])["batchItemFailures"] == []
    assert len(receive(app.failed_alarms)) == 1


def test_one_beyond_15_minutes_is_sent_by_the_sweeper_when_it_comes_near(app: Application) -> None:
    at_ms = set_alarm(app, in_s=86_400)
    app.world.clock.advance(86_400 - NEAR_S - 1)
    app.sweep()
    assert waiting(app) == 0
    app.world.clock.advance(1)
    app.sweep()
    assert waiting(app) == 1
    app.sweep()
    assert waiting(app) == 1, "it is on its way"
    app.world.clock.advance(NEAR_S)
    assert ring(app, at_ms) == []
    assert closed(app)


def test_an_alarm_that_comes_near_costs_the_sweeper_three_calls(app: Application) -> None:
    set_alarm(app, in_s=1_000)
    app.world.clock.advance(1_000)
    with counted(app.world.client("dynamodb"), app.world.client("sqs")) as calls:
        app.sweep()
        reviews, near, vectors = "Query", "Query", "Query"
        assert calls.operations == [reviews, near, "GetItem", "SendMessage", "UpdateItem", vectors]
        app.sweep()
        assert calls.operations[6:] == [reviews, near, vectors]


def test_a_crash_between_commit_and_message_is_healed_by_the_sweeper(app: Application) -> None:
    silent = dataclasses.replace(things(app), alarms=None)  # it dies before it sends
    silent.get(Room, LOBBY).close_at(now_ms(app) + 10_000)
    assert waiting(app) == 0
    app.world.clock.advance(60)
    app.sweep()
    assert [each["name"] for each in sent(app)] == [LOBBY]


def test_one_that_is_moved_while_the_sweeper_sends_it_stays_where_it_is_found(app: Application) -> None:
    set_alarm(app, in_s=1_000)
    app.world.clock.advance(1_000)
    (item,) = near(app)
    at_ms = set_alarm(app, in_s=2_000)
    app.bindings.alarms.send_near(item, now_ms=now_ms(app))
    assert waiting(app) == 0
    app.world.clock.advance(2_000)
    assert [each["pk"] for each in near(app)] == [f"object#Room#{LOBBY}"]
    assert ring(app, at_ms) == []


def test_a_room_that_is_closed_keeps_who_is_in_it_and_lets_nobody_in(app: Application) -> None:
    room = things(app).get(Room, LOBBY)
    room.join("tom")
    ring(app, set_alarm(app, in_s=0))
    assert room.join("tom") == ["tom"]
    with pytest.raises(Conflict) as refused:
        room.join("ann")
    assert refused.value.code == "room_closed"
