"""Fifty threads in five processes on DynamoDB Local: never more at once than there are turns, as was recorded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isolane.at_most import serial
from isolane.permits import Permits
from tests.crowd import Crowd, count_of
from tests.environment import clients
from tests.overlap import most_at_once
from tests.world import World


@pytest.fixture
def place(dynamodb_local_url: str) -> Iterator[World]:
    client = clients.dynamodb(dynamodb_local_url)
    world = World(lambda _: client)
    world.make_tables()
    yield world
    world.remove_tables()


def crowd(url: str, world: World, *, n: int) -> Crowd:
    return Crowd(url=url, table=world.state.name, n=n)


def test_serial_calls_never_overlap(place: World, dynamodb_local_url: str) -> None:
    intervals = crowd(dynamodb_local_url, place, n=1).come()
    assert len({interval.who for interval in intervals}) == 50
    assert most_at_once(intervals) == 1
    assert count_of(place.state) == 50
    with serial(Permits(place.state), "crowd", wait_s=0) as held:
        assert held.lease.fence == 51


def test_at_most_three_are_at_work_at_once(place: World, dynamodb_local_url: str) -> None:
    intervals = crowd(dynamodb_local_url, place, n=3).come()
    assert len(intervals) == 50
    assert most_at_once(intervals) == 3


def test_without_a_limit_the_same_crowd_is_seen_to_overlap(place: World, dynamodb_local_url: str) -> None:
    intervals = crowd(dynamodb_local_url, place, n=50).come()
    assert most_at_once(intervals) > 3
    assert count_of(place.state) < 50
