"""What a reservation costs in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isolane.reservations import Reservation
from tests.counting import Counted, counted, spent
from tests.world import World


@pytest.fixture
def world(moto_world: World) -> World:
    return moto_world


@pytest.fixture
def calls(world: World) -> Iterator[Counted]:
    with counted(world.client("dynamodb")) as counter:
        yield counter


def reserve(world: World, request_id: str, *, seats: int = 4) -> Reservation:
    return world.reservations.reserve("python", request_id=request_id, seats=seats, caller="ann")


def test_accepted_is_two_calls_and_so_is_a_replay(world: World, calls: Counted) -> None:
    for replayed in (False, True):
        assert reserve(world, "request-1").replayed == replayed
        assert spent(calls) == ["TransactWriteItems", "GetItem"]


def test_rejected_is_two_calls_and_so_is_its_replay(world: World, calls: Counted) -> None:
    reserve(world, "request-1")
    spent(calls)
    reserve(world, "request-2")
    assert spent(calls) == ["TransactWriteItems", "TransactWriteItems"]
    assert reserve(world, "request-2").replayed
    assert spent(calls) == ["TransactWriteItems", "GetItem"]


def test_no_cost_grows_with_what_is_there(world: World, calls: Counted) -> None:
    world.reservations.set_capacity("python", capacity=30)
    assert spent(calls) == ["UpdateItem"]
    for number in range(40):
        reserve(world, f"request-{number}", seats=1)
    spent(calls)
    status = world.reservations.status("python")
    assert (status.accepted, status.rejected) == (30, 10)
    assert spent(calls) == ["Query"]


def test_a_cancellation_is_three_and_again_it_is_two(world: World, calls: Counted) -> None:
    reserve(world, "request-1")
    spent(calls)
    for expected in (["GetItem", "TransactWriteItems", "GetItem"], ["GetItem", "GetItem"]):
        world.reservations.cancel("python", request_id="request-1", owner="ann")
        assert spent(calls) == expected
