"""What a named object costs in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from objects.room import Room
from tests.counting import Counted, counted, spent
from tests.world import World


@pytest.fixture
def world(moto_world: World) -> World:
    return moto_world


@pytest.fixture
def calls(world: World) -> Iterator[Counted]:
    with counted(world.client("dynamodb")) as counter:
        yield counter


def test_a_read_is_one_call_and_a_change_is_two(world: World, calls: Counted) -> None:
    for who in ("ann", "tom"):
        world.objects.get(Room, "room:1001").join(who)
        assert spent(calls) == ["GetItem", "PutItem"]
    assert world.objects.get(Room, "room:1001").members == ["ann", "tom"]
    assert spent(calls) == ["GetItem"]
    world.objects.get(Room, "room:1001").join("tom")
    assert spent(calls) == ["GetItem"]


def test_a_command_is_two_calls_and_its_replay_is_one(world: World, calls: Counted) -> None:
    room = world.objects.get(Room, "room:1001", command="call-1")
    room.join("tom")
    assert spent(calls) == ["BatchGetItem", "TransactWriteItems"]
    room.join("tom")
    assert spent(calls) == ["BatchGetItem"]


def test_a_command_that_changes_nothing_is_two_calls_too(world: World, calls: Counted) -> None:
    world.objects.get(Room, "room:1001").join("tom")
    spent(calls)
    world.objects.get(Room, "room:1001", command="call-1").join("tom")
    assert spent(calls) == ["BatchGetItem", "TransactWriteItems"]
