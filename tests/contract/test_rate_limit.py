"""Rate limits, on every backend: exactly what a leaky bucket would let through, and never more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from isolane.errors import ConfigurationError, InvalidRequest
from isolane.rate_limit import RateLimit, Taken
from tests.environment import clients
from tests.world import Clock, World

Limit = Callable[..., RateLimit]


@pytest.fixture
def rate(world: World) -> Limit:
    return lambda **rate: RateLimit(world.values.table, **rate, clock=world.clock)


def test_as_many_as_the_burst_are_allowed_at_once(rate: Limit) -> None:
    limit = rate(limit=60, period_s=60, burst=3)
    taken = [limit.take("ann") for _ in range(4)]
    assert [(it.allowed, it.limit, it.remaining) for it in taken] == [
        (True, 3, 2),
        (True, 3, 1),
        (True, 3, 0),
        (False, 3, 0),
    ]
    assert [it.reset_s for it in taken] == [1.0, 2.0, 3.0, 3.0]
    assert [it.retry_after_s for it in taken] == [0.0, 0.0, 0.0, 1.0]


def test_what_was_taken_comes_back_one_by_one(rate: Limit, world: World) -> None:
    limit = rate(limit=60, period_s=60, burst=3)
    for _ in range(3):
        limit.take("ann")
    world.clock.advance(0.999)
    assert not limit.take("ann").allowed
    world.clock.advance(0.001)
    assert limit.take("ann").allowed
    assert not limit.take("ann").allowed


def test_an_idle_gap_is_not_saved_up(rate: Limit, world: World) -> None:
    limit = rate(limit=10, period_s=1)
    limit.take("ann")
    world.clock.advance(3600)
    assert [limit.take("ann").allowed for _ in range(11)] == [True] * 10 + [False]


def test_what_retry_after_says_is_true(rate: Limit, world: World) -> None:
    limit = rate(limit=7, period_s=60, burst=5)
    limit.take("ann", cost=4)
    refused = limit.take("ann", cost=3)
    assert (refused.allowed, refused.remaining) == (False, 1)
    world.clock.advance(refused.retry_after_s - 0.001)
    assert not limit.take("ann", cost=3).allowed
    world.clock.advance(0.002)
    assert limit.take("ann", cost=3).allowed


def test_no_key_takes_from_anothers(rate: Limit) -> None:
    limit = rate(limit=1, period_s=60)
    assert limit.take("ann").allowed
    assert limit.take("bob").allowed
    assert not limit.take("ann").allowed


def test_a_row_that_has_expired_and_is_not_deleted_counts_as_none(rate: Limit, world: World) -> None:
    limit = rate(limit=2, period_s=60)
    first = limit.take("ann", cost=2)
    row = world.values.table.get({"key": "rate#ann"}) or {}
    assert row["expires_at"] >= world.clock.now_s + first.reset_s
    assert len(str(row["expires_at"])) == 10
    world.clock.advance(row["expires_at"] - world.clock.now_s)
    assert limit.take("ann", cost=2) == first


def test_a_clock_that_goes_back_gives_nothing_twice(rate: Limit, world: World) -> None:
    limit = rate(limit=60, period_s=60, burst=2)
    limit.take("ann", cost=2)
    world.clock.advance(-5)
    refused = limit.take("ann")
    assert (refused.allowed, refused.remaining, refused.retry_after_s) == (False, 0, 6.0)


@pytest.mark.parametrize("cost", [0, -1, 4])
def test_a_cost_that_could_never_be_paid_is_refused(rate: Limit, cost: int) -> None:
    with pytest.raises(InvalidRequest):
        rate(limit=3, period_s=60).take("ann", cost=cost)


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"period_s": 0}, {"burst": 0}])
def test_a_rate_of_nothing_is_a_mistake(rate: Limit, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        rate(**{"limit": 1, "period_s": 1, **wrong})


@pytest.mark.usefixtures("atomic")
def test_a_crowd_at_once_is_allowed_no_more_than_the_burst(rate: Limit) -> None:
    limit = rate(limit=20, period_s=60)
    with ThreadPoolExecutor(16) as threads:
        taken = list(threads.map(lambda _: limit.take("ann"), range(50)))
    assert sum(it.allowed for it in taken) == 20
    assert sorted(it.remaining for it in taken if it.allowed) == list(range(20))


class Bucket:
    """What the limit promises, said in another way and in exact numbers: a bucket that leaks all the time."""

    def __init__(self, *, interval_ns: int, burst: int) -> None:
        self.interval_ns = interval_ns
        self.burst = burst
        self.level = Fraction(0)
        self.looked_at_ns = 0

    def take(self, cost: int, *, now_ns: int) -> tuple[bool, int, float, float]:
        """Whether it fits; what fits now; seconds until the bucket is empty; seconds until it would fit."""
        leaked = Fraction(now_ns - self.looked_at_ns, self.interval_ns)
        self.level, self.looked_at_ns = max(Fraction(0), self.level - leaked), now_ns
        over = max(Fraction(0), self.level + cost - self.burst)
        self.level += 0 if over else cost
        return not over, int(self.burst - self.level), self._seconds(self.level), self._seconds(over)

    def _seconds(self, level: Fraction) -> float:
        return float(level * self.interval_ns / 1_000_000_000)


def shown(taken: Taken) -> tuple[bool, int, float, float]:
    return taken.allowed, taken.remaining, taken.reset_s, taken.retry_after_s


@pytest.fixture(scope="module")
def moto_values() -> Iterator[Any]:
    with mock_aws():
        client = clients.session().client("dynamodb", config=clients.CONFIG)
        world = World(lambda _: client)
        world.make_tables()
        yield world.values.table


STEPS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(limit=st.integers(1, 12), period_s=st.sampled_from([1, 3, 60]), burst=st.integers(5, 12), steps=STEPS)
def test_it_is_the_leaky_bucket(moto_values: Any, limit: int, period_s: int, burst: int, steps: Any) -> None:
    clock = Clock()
    rate = RateLimit(moto_values, limit, period_s, burst, clock)
    bucket, key = Bucket(interval_ns=rate.rate.interval_ns, burst=burst), uuid4().hex
    let_through: list[tuple[int, int]] = []
    for eighths, cost in steps:
        clock.advance(eighths / 8)  # a power of two, so that the clock itself is exact
        now_ns = int(clock.now_s * 1_000_000_000)
        taken, expected = rate.take(key, cost=cost), bucket.take(cost, now_ns=now_ns)
        assert shown(taken) == pytest.approx(expected, abs=1e-9)
        if taken.allowed:
            let_through.append((now_ns, cost))
    for index, (since_ns, _) in enumerate(let_through):
        for until_ns, _ in let_through[index:]:
            within = sum(cost for at_ns, cost in let_through if since_ns <= at_ns <= until_ns)
            assert within <= burst + Fraction(limit * (until_ns - since_ns), period_s * 1_000_000_000)
