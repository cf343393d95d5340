"""One name, one authority; on every backend."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.errors import ConfigurationError, Contended, IdempotencyMismatch, InvalidRequest, NotFound, TooLarge
from isolane.object_state import MOST_BYTES
from isolane.objects import COMMAND_S, Objects
from objects.room import Room
from objects.tickets import Tickets
from tests.world import World


class Anything:
    """An object that does as it is told."""

    def __init__(self) -> None:
        self.value: Any = None

    def set(self, value: Any) -> Any:
        self.value = value
        return value

    def get(self) -> Any:
        return self.value

    def fail(self) -> None:
        self.value = "changed"
        raise NotFound

    def answer_what_is_no_json(self) -> Any:
        return {1}


class Grown(Room):
    """A room as a later version of its code has it."""

    def __init__(self) -> None:
        super().__init__()
        self.topic = "none"


Grown.__name__ = "Room"


def room(world: World, command: str | None = None) -> Room:
    return world.objects.get(Room, "room:1001", command=command)


def row_of(world: World, name: str, kind: str = "Anything") -> Any:
    return world.state.get({"pk": f"object#{kind}#{name}", "sk": "object"})


def test_an_object_comes_into_being_with_its_first_change(world: World) -> None:
    assert room(world).members == []
    assert row_of(world, "room:1001", "Room") is None
    assert room(world).join("tom") == ["tom"]
    assert room(world).join("ann") == ["tom", "ann"]
    assert room(world).members == ["tom", "ann"]
    assert row_of(world, "room:1001", "Room")["version"] == 2


def test_a_method_that_changes_nothing_writes_nothing(world: World) -> None:
    room(world).join("tom")
    before = row_of(world, "room:1001", "Room")
    assert room(world).join("tom") == ["tom"]
    assert row_of(world, "room:1001", "Room") == before


def test_objects_of_another_name_or_class_are_others(world: World) -> None:
    room(world).join("tom")
    assert world.objects.get(Room, "room:1002").members == []
    assert world.objects.get(Tickets, "room:1001").next() == 1
    assert room(world).members == ["tom"]


@pytest.mark.parametrize(
    "value", [0, 1.5, 10**30, True, "ä€🦀 \u0000", [], {}, {"a": [1, {"b": None}]}, [[]], 1e300, "#name", {"": ""}]
)
def test_state_comes_back_as_it_was(world: World, value: Any) -> None:
    thing = world.objects.get(Anything, "any thing at all 🦀 #")
    thing.set(value)
    found = thing.get()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, {1}, b"x", float("nan"), "\ud800", object()])
def test_state_that_json_cannot_keep_is_refused_and_nothing_is_changed(world: World, value: Any) -> None:
    with pytest.raises(ConfigurationError):
        world.objects.get(Anything, "a").set(value)
    assert row_of(world, "a") is None


def test_state_may_have_350_kb_and_no_more(world: World) -> None:
    longest = MOST_BYTES - len('{"value":""}')
    thing = world.objects.get(Anything, "a")
    thing.set("ä" * (longest // 2))
    with pytest.raises(TooLarge) as refused:
        thing.set("ä" * (longest // 2) + "b" * (longest % 2 + 1))
    assert refused.value.code == "state_too_large"
    assert "350 KB" in refused.value.message
    assert row_of(world, "a")["version"] == 1


def test_what_a_method_did_before_it_failed_has_not_happened(world: World) -> None:
    thing = world.objects.get(Anything, "a")
    thing.set("before")
    with pytest.raises(NotFound):
        thing.fail()
    assert thing.get() == "before"


def test_an_attribute_that_its_class_has_had_added_since_is_there(world: World) -> None:
    room(world).join("tom")
    grown = world.objects.get(Grown, "room:1001")
    assert (grown.members, grown.topic) == (["tom"], "none")
    assert row_of(world, "room:1001", "Room")["version"] == 1, "to look changes nothing"
    assert grown.join("ann") == ["tom", "ann"]
    assert room(world).members == ["tom", "ann"], "an attribute that its class does not have yet is no harm"
    assert '"topic"' in row_of(world, "room:1001", "Room")["state"]


def test_a_command_is_carried_out_once_and_answered_the_same_again(world: World) -> None:
    tickets = world.objects.get(Tickets, "counter:1", command="call-1")
    assert tickets.next() == 1
    assert world.objects.get(Tickets, "counter:1").next() == 2
    assert tickets.next() == 1
    assert world.objects.get(Tickets, "counter:1").value == 2
    called = world.objects.call(Tickets, "counter:1", "next", command="call-1")
    assert (called.value, called.replayed) == (1, True)


def test_a_command_that_changed_nothing_has_its_first_answer_too(world: World) -> None:
    assert room(world).join("tom") == ["tom"]
    assert room(world, "call-1").join("tom") == ["tom"]
    room(world).join("ann")
    assert room(world, "call-1").join("tom") == ["tom"]


def test_a_command_that_is_another_call_is_refused(world: World) -> None:
    room(world, "call-1").join("tom")
    with pytest.raises(IdempotencyMismatch):
        room(world, "call-1").join("ann")
    assert room(world).members == ["tom"]


def test_a_command_is_of_its_object(world: World) -> None:
    for name in ("counter:1", "counter:2"):
        assert world.objects.get(Tickets, name, command="call-1").next() == 1


def test_a_command_is_forgotten_after_a_day_whether_or_not_its_row_is_there(world: World) -> None:
    tickets = world.objects.get(Tickets, "counter:1", command="call-1")
    assert tickets.next() == 1
    world.clock.advance(COMMAND_S - 1)
    assert tickets.next() == 1
    world.clock.advance(1)
    assert tickets.next() == 2
    assert tickets.next() == 2


def test_a_command_that_failed_was_not_carried_out(world: World) -> None:
    thing = world.objects.get(Anything, "a", command="call-1")
    with pytest.raises(NotFound):
        thing.fail()
    assert thing.set(1) == 1


def test_an_answer_that_json_cannot_keep_is_refused_to_a_command_and_nothing_is_changed(world: World) -> None:
    with pytest.raises(ConfigurationError):
        world.objects.get(Anything, "a", command="call-1").answer_what_is_no_json()
    assert world.objects.get(Anything, "a").answer_what_is_no_json() == {1}


@pytest.mark.parametrize("name", ["", "n" * 256])
def test_a_name_has_some_characters_and_not_too_many(world: World, name: str) -> None:
    with pytest.raises(InvalidRequest):
        world.objects.get(Room, name).join("tom")


def until_told(objects: Objects, command: str) -> int:
    """The next number, asked for again by its command where the name was too busy, as a client over HTTP does."""
    while True:
        try:
            return objects.get(Tickets, "counter:1", command=command).next()
        except Contended:
            continue


@pytest.mark.usefixtures("atomic")
def test_64_callers_get_64_numbers_in_a_row(world: World) -> None:
    objects, ready = Objects(world.state, world.values.table), threading.Barrier(64)

    def one(number: int) -> int:
        ready.wait(timeout=30)
        return until_told(objects, f"call-{number}")

    with ThreadPoolExecutor(64) as threads:
        values = list(threads.map(one, range(64)))
    assert sorted(values) == list(range(1, 65))
    assert objects.get(Tickets, "counter:1").value == 64
