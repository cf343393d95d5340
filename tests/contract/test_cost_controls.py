"""What the controls cost in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from isolane.at_most import serial
from isolane.breaker import KEPT_S, Breaker
from isolane.circuit import Closed, Open, Probe, Rules
from isolane.permits import Permits
from isolane.rate_limit import RateLimit
from isolane.semaphore import SKEW_MS, Lease
from tests.counting import Counted, counted, spent
from tests.environment import clients
from tests.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with mock_aws():
        client = clients.session().client("dynamodb", config=clients.CONFIG)
        world = World(lambda _: client)
        world.make_tables()
        yield world


@pytest.fixture
def permits(world: World) -> Permits:
    permits = Permits(world.state, world.clock, world.clock.advance)
    permits.set_limit("model", limit=3)
    return permits


@pytest.fixture
def breaker(world: World) -> Breaker:
    return Breaker(world.state, Rules(failures=2, open_s=30), world.clock)


@pytest.fixture
def calls(world: World, permits: Permits, breaker: Breaker) -> Iterator[Counted]:
    with counted(world.client("dynamodb")) as counter:
        yield counter


def take(permits: Permits, holder: str, *, count: int = 1) -> Lease | None:
    return permits.acquire("model", holder=holder, lease_s=30, count=count)


@pytest.mark.parametrize("count", [1, 3])
def test_a_permit_is_one_call_to_take_and_one_to_give_back(permits: Permits, calls: Counted, count: int) -> None:
    lease = take(permits, "a", count=count)
    assert lease is not None
    assert spent(calls) == ["UpdateItem"]
    permits.renew(lease, lease_s=30)
    assert spent(calls) == ["UpdateItem"]
    permits.release(lease)
    assert spent(calls) == ["UpdateItem"]


def test_a_refusal_is_one_call_and_so_is_the_lease_one_has(permits: Permits, calls: Counted) -> None:
    take(permits, "a", count=3)
    spent(calls)
    assert take(permits, "b") is None
    assert spent(calls) == ["UpdateItem"]
    assert take(permits, "a", count=3) is not None
    assert spent(calls) == ["UpdateItem"]


def test_within_the_margin_for_clocks_a_refusal_is_one_call_too(permits: Permits, world: World, calls: Counted) -> None:
    take(permits, "a", count=3)
    world.clock.advance(30 + SKEW_MS / 1000 - 0.001)
    spent(calls)
    assert take(permits, "b") is None
    assert spent(calls) == ["UpdateItem"]


def test_the_place_of_lapsed_leases_is_had_with_two_calls(permits: Permits, world: World, calls: Counted) -> None:
    for holder in "abc":
        take(permits, holder)
    world.clock.advance(30 + SKEW_MS / 1000)
    spent(calls)
    assert take(permits, "d", count=3) is not None
    assert spent(calls) == ["UpdateItem", "UpdateItem"]


def test_the_first_of_a_name_makes_its_row_with_one_call_more(permits: Permits, calls: Counted) -> None:
    assert permits.acquire("new", holder="a", lease_s=30, limit=1) is not None
    assert spent(calls) == ["UpdateItem", "PutItem"]


def test_a_serial_call_is_two(permits: Permits, calls: Counted) -> None:
    for _ in range(2):
        spent(calls)
        with serial(permits, "report"):
            pass
    assert spent(calls) == ["UpdateItem", "UpdateItem"]


def test_a_rate_limit_is_one_call_while_busy_and_two_after_a_gap(world: World, calls: Counted) -> None:
    limit = RateLimit(world.values.table, limit=2, period_s=60, clock=world.clock)
    for expected in (2, 1, 1):  # the first finds no row, the last is refused
        limit.take("ann")
        assert spent(calls) == ["UpdateItem"] * expected
    world.clock.advance(61)
    assert limit.take("ann").allowed
    assert spent(calls) == ["UpdateItem"] * 2


def test_a_breaker_is_one_read_a_second_whatever_is_called(world: World, breaker: Breaker, calls: Counted) -> None:
    for _ in range(3):
        for _ in range(100):
            assert breaker.check("model") == Closed()
            breaker.succeeded("model")
        assert spent(calls) == ["GetItem"]
        world.clock.advance(KEPT_S)


def test_an_open_breaker_is_one_read_a_second_too(world: World, breaker: Breaker, calls: Counted) -> None:
    breaker.failed("model", retry_after_s=30)
    assert spent(calls) == ["GetItem", "PutItem"]
    world.clock.advance(KEPT_S)
    for _ in range(100):
        assert isinstance(breaker.check("model"), Open)
    assert spent(calls) == ["GetItem"]


def test_a_probe_is_three_calls_and_two_to_end(world: World, breaker: Breaker, calls: Counted) -> None:
    breaker.failed("model", retry_after_s=30)
    world.clock.advance(30)
    spent(calls)
    probe = breaker.check("model")
    assert isinstance(probe, Probe)
    assert spent(calls) == ["GetItem", "GetItem", "PutItem"]
    breaker.succeeded("model", probe=probe)
    assert spent(calls) == ["GetItem", "PutItem"]


def test_a_failure_on_an_open_breaker_writes_nothing(breaker: Breaker, calls: Counted) -> None:
    for expected in (["GetItem", "PutItem"], ["GetItem", "PutItem"], ["GetItem"]):
        breaker.failed("model")
        assert spent(calls) == expected
