"""Permits, on every backend: never more than the limit, whoever asks, dies, comes late or asks twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, InvalidRequest
from isolane.permits import Permits
from isolane.semaphore import MOST_RECLAIMED, SKEW_MS, Lease, Semaphore, permits_of
from tests.world import World

SKEW_S = SKEW_MS / 1000
LEASE_S = 30.0
ODD_HOLDERS = ["a.b", "a[0]", "#pk", ":one", "leases", "x" * 255, "ä€🦀 \n\"'", "0", "\x00"]


@pytest.fixture
def permits(world: World) -> Permits:
    def sleep(seconds: float) -> None:
        world.clock.advance(seconds)

    return Permits(world.state, world.clock, sleep)


Ask = Callable[..., Lease | None]


@pytest.fixture
def ask(permits: Permits) -> Ask:
    def ask(holder: str, *, limit: int = 2, lease_s: float = LEASE_S, **more: Any) -> Lease | None:
        return permits.acquire("model", holder=holder, lease_s=lease_s, limit=limit, **more)

    return ask


def got(lease: Lease | None) -> Lease:
    assert lease is not None
    return lease


def semaphore(permits: Permits) -> Semaphore:
    """The row, which must add up whenever one looks."""
    found = permits.find("model")
    assert found is not None
    assert permits_of(found.leases.values()) + found.free == found.limit
    return found


def test_no_more_permits_are_out_than_there_are(permits: Permits, ask: Ask) -> None:
    leases = [ask(holder) for holder in "abc"]
    assert [lease is not None for lease in leases] == [True, True, False]
    assert [lease.holder for lease in permits.holders("model")] == ["a", "b"]
    assert semaphore(permits).free == 0


def test_a_lease_says_what_it_is(permits: Permits, ask: Ask) -> None:
    until_ms = permits.now_ms() + 30_000
    assert ask("a", count=2) == Lease(name="model", holder="a", count=2, until_ms=until_ms, fence=1)
    assert permits.holders("model") == [ask("a", count=2)]


def test_a_released_permit_is_free_again(permits: Permits, ask: Ask) -> None:
    permits.release(got(ask("a", limit=1)))
    assert ask("b") is not None
    assert [lease.holder for lease in permits.holders("model")] == ["b"]


def test_nobody_holds_a_name_that_nobody_has_asked_for(permits: Permits) -> None:
    assert permits.find("nobody") is None
    assert permits.holders("nobody") == []


def test_n_permits_are_had_at_once_or_none_of_them(permits: Permits, ask: Ask) -> None:
    assert ask("a", count=3, limit=5) is not None
    assert ask("b", count=3) is None
    assert semaphore(permits).free == 2
    assert ask("b", count=2) is not None


def test_a_holder_that_asks_again_gets_the_lease_it_has(permits: Permits, ask: Ask) -> None:
    first = ask("a", limit=2)
    permits.clock.advance(1)  # type: ignore[attr-defined]
    assert ask("a") == first
    assert semaphore(permits).free == 1


def test_a_holder_that_asks_for_another_number_is_not_told_that_it_has_it(permits: Permits, ask: Ask) -> None:
    ask("a", count=1, limit=5)
    assert ask("a", count=3) is None
    assert semaphore(permits).free == 4


def test_a_limit_that_is_asked_for_later_changes_nothing(permits: Permits, ask: Ask) -> None:
    ask("a", limit=1)
    assert ask("b", limit=9) is None
    assert semaphore(permits).limit == 1


def test_more_than_there_are_is_refused_and_creates_nothing(permits: Permits, ask: Ask) -> None:
    assert ask("a", count=3, limit=2) is None
    assert permits.find("model") is None


def test_a_limit_that_nobody_ever_said_is_a_mistake(permits: Permits) -> None:
    with pytest.raises(ConfigurationError):
        permits.acquire("model", holder="a", lease_s=LEASE_S)


@pytest.mark.parametrize("wrong", [{"count": 0}, {"lease_s": 0}, {"limit": -1}, {"holder": ""}, {"holder": "ä" * 128}])
def test_what_makes_no_sense_is_refused(permits: Permits, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        permits.acquire("model", **{"holder": "a", "lease_s": 1, "limit": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("holder", ODD_HOLDERS)
def test_a_holder_may_be_called_anything(permits: Permits, ask: Ask, holder: str) -> None:
    lease = got(ask(holder, limit=1))
    assert permits.holders("model") == [lease]
    assert permits.renew(lease, lease_s=60) is not None
    permits.release(lease)
    assert semaphore(permits).leases == {}


def test_a_lapsed_lease_frees_its_place_after_the_margin_for_clocks(permits: Permits, world: World, ask: Ask) -> None:
    dead = got(ask("a", limit=1))
    world.clock.advance(LEASE_S + SKEW_S - 0.001)
    assert permits.holders("model") == []
    assert ask("b") is None
    world.clock.advance(0.001)
    assert got(ask("b")).fence > dead.fence
    assert semaphore(permits).leases.keys() == {"b"}


def test_lapsed_leases_stay_while_nobody_needs_their_place(permits: Permits, world: World, ask: Ask) -> None:
    ask("a", limit=3)
    world.clock.advance(LEASE_S + SKEW_S)
    ask("b")
    assert semaphore(permits).leases.keys() == {"a", "b"}


def test_a_live_lease_is_not_removed_with_the_lapsed_ones(permits: Permits, world: World, ask: Ask) -> None:
    ask("dead", limit=3)
    ask("alive", lease_s=300)
    ask("dead too")
    world.clock.advance(LEASE_S + SKEW_S)
    assert ask("new", count=2) is not None
    assert semaphore(permits).leases.keys() == {"alive", "new"}


def test_a_holder_whose_own_lease_has_lapsed_gets_a_new_one(permits: Permits, world: World, ask: Ask) -> None:
    ask("b", limit=3)
    old = got(ask("a"))
    world.clock.advance(LEASE_S + SKEW_S - 0.001)
    assert ask("a") is None
    world.clock.advance(0.001)
    new = got(ask("a", count=3))
    assert (new.count, new.fence > old.fence) == (3, True)
    permits.release(old)
    assert semaphore(permits).leases == {"a": new}


@pytest.mark.parametrize(("holder", "count"), [("new", 85), ("dead 84", 85), ("dead 84", 1)])
def test_more_dead_leases_than_one_write_can_name_all_come_back(
    permits: Permits, world: World, ask: Ask, holder: str, count: int
) -> None:
    dead = [f"dead {number}" for number in range(2 * MOST_RECLAIMED + 5)]
    ask("first", limit=len(dead))
    row = world.state.get({"pk": "permits#model", "sk": "permits"}) or {}
    lease = row["leases"]["first"]
    fences = {holder: fence for fence, holder in enumerate(dead, start=1)}
    world.state.put({**row, "free": 0, "fence": len(dead), "leases": dict.fromkeys(dead, lease), "fences": fences})
    world.clock.advance(LEASE_S + SKEW_S)
    assert ask(holder, count=count) is not None
    assert [lease.holder for lease in permits.holders("model")] == [holder]
    assert semaphore(permits).free >= 0


def test_the_fence_only_grows(permits: Permits, world: World, ask: Ask) -> None:
    fences = []
    for number in range(3):
        lease = got(ask(f"released {number}", limit=1))
        permits.release(lease)
        fences += [lease.fence, got(ask(f"dead {number}")).fence]
        world.clock.advance(LEASE_S + SKEW_S)
    assert fences == sorted(set(fences))


def test_a_renewed_lease_lives_on(permits: Permits, world: World, ask: Ask) -> None:
    lease = got(ask("a", limit=1))
    world.clock.advance(LEASE_S - 1)
    renewed = got(permits.renew(lease, lease_s=LEASE_S))
    assert renewed == dataclasses.replace(lease, until_ms=permits.now_ms() + 30_000)
    world.clock.advance(LEASE_S - 1)
    assert ask("b") is None
    assert permits.holders("model") == [renewed]


def test_a_lease_that_is_gone_cannot_be_renewed(permits: Permits, world: World, ask: Ask) -> None:
    lease = got(ask("a", limit=1))
    world.clock.advance(LEASE_S + SKEW_S)
    ask("b")
    assert permits.renew(lease, lease_s=60) is None
    assert [lease.holder for lease in permits.holders("model")] == ["b"]


def test_a_release_touches_nobody_elses(permits: Permits, world: World, ask: Ask) -> None:
    late = got(ask("a", limit=1))
    world.clock.advance(LEASE_S + SKEW_S)
    permits.release(got(ask("b")))
    current = ask("a")
    before = semaphore(permits)
    permits.release(late)
    assert semaphore(permits) == before
    assert permits.holders("model") == [current]


def test_a_second_release_gives_nothing_back(permits: Permits, ask: Ask) -> None:
    lease = got(ask("a", limit=1))
    for _ in range(3):
        permits.release(lease)
    assert semaphore(permits).free == 1


def test_a_release_where_there_is_no_row_does_nothing(permits: Permits) -> None:
    permits.release(Lease(name="model", holder="a", count=1, until_ms=0, fence=1))
    assert permits.find("model") is None


def test_a_lowered_limit_takes_nothing_away_and_lets_nobody_in(permits: Permits, ask: Ask) -> None:
    leases = [got(ask(holder, limit=4)) for holder in "abcd"]
    permits.set_limit("model", limit=2)
    assert semaphore(permits).free == -2
    for lease in leases[:2]:
        permits.release(lease)
        assert ask("e") is None
    permits.release(leases[2])
    assert ask("e") is not None


def test_a_lowered_limit_counts_what_lapsed_leases_hold(permits: Permits, world: World, ask: Ask) -> None:
    ask("dead", count=4, limit=4)
    permits.set_limit("model", limit=1)
    world.clock.advance(LEASE_S + SKEW_S)
    assert ask("b", count=2) is None
    assert ask("b") is not None
    assert semaphore(permits).free == 0


def test_a_raised_limit_lets_more_in(permits: Permits, ask: Ask) -> None:
    ask("a", limit=1)
    permits.set_limit("model", limit=2)
    assert ask("b") is not None


def test_a_limit_can_be_set_before_anybody_asks(permits: Permits) -> None:
    permits.set_limit("model", limit=0)
    assert permits.acquire("model", holder="a", lease_s=1, limit=5) is None
    permits.set_limit("model", limit=1)
    assert permits.acquire("model", holder="a", lease_s=1) is not None


def test_who_waits_gets_the_permit_when_it_is_free(permits: Permits, world: World, ask: Ask) -> None:
    lease = got(ask("a", limit=1))
    released_at_s = world.clock.now_s + 5

    def sleep(seconds: float) -> None:
        world.clock.advance(seconds)
        if world.clock.now_s >= released_at_s:
            permits.release(lease)

    waiting = dataclasses.replace(permits, sleep=sleep)
    assert waiting.acquire("model", holder="b", lease_s=LEASE_S, wait_s=10) is not None
    assert world.clock.now_s - released_at_s <= 1


def test_who_waits_in_vain_waits_as_long_as_it_said(permits: Permits, world: World, ask: Ask) -> None:
    ask("a", limit=1)
    started_s = world.clock.now_s
    assert ask("b", wait_s=7) is None
    assert world.clock.now_s - started_s == pytest.approx(7)


def test_waits_grow_and_are_never_in_step(permits: Permits, world: World, ask: Ask) -> None:
    ask("a", limit=1)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        world.clock.advance(seconds)

    waiting = dataclasses.replace(permits, sleep=sleep)
    for holder in "bc":
        waiting.acquire("model", holder=holder, lease_s=1, wait_s=9)
    assert len(waits) < 80
    assert max(waits[:3]) < 0.2 < min(waits[10:15])
    assert len(set(waits)) == len(waits)


def test_a_block_gives_its_permit_back_also_on_an_error(permits: Permits) -> None:
    with pytest.raises(ZeroDivisionError), permits.held("model", holder="a", lease_s=LEASE_S, limit=1):
        raise ZeroDivisionError
    assert semaphore(permits).free == 1


def test_a_block_without_a_permit_is_told_so(permits: Permits, ask: Ask) -> None:
    ask("a", limit=1)
    with permits.held("model", holder="b", lease_s=LEASE_S) as held:
        assert held is None
    assert [lease.holder for lease in permits.holders("model")] == ["a"]


def test_a_block_works_no_longer_than_its_lease_and_its_own_deadline(permits: Permits, world: World) -> None:
    for mine_s, allowed_s in ((60.0, 30.0), (10.0, 10.0)):
        deadline = Deadline.after(mine_s, clock=world.clock)
        with permits.held("model", holder="a", lease_s=30, limit=1, deadline=deadline) as held:
            assert held is not None
            assert held.deadline.left_s() == pytest.approx(allowed_s, abs=0.002)
    with permits.held("model", holder="a", lease_s=30) as held:
        assert held is not None
        assert 25 < held.deadline.left_s() <= 30


def test_a_block_that_outlived_its_lease_releases_nobody_elses(permits: Permits, world: World, ask: Ask) -> None:
    with permits.held("model", holder="a", lease_s=LEASE_S, limit=1):
        world.clock.advance(LEASE_S + SKEW_S)
        assert ask("b") is not None
    assert [lease.holder for lease in permits.holders("model")] == ["b"]


@pytest.mark.usefixtures("atomic")
def test_a_crowd_that_asks_at_once_gets_as_many_as_there_are(permits: Permits) -> None:
    with ThreadPoolExecutor(16) as threads:
        asked = threads.map(lambda n: permits.acquire("model", holder=f"h{n}", lease_s=LEASE_S, limit=3), range(50))
    fences = [lease.fence for lease in asked if lease is not None]
    assert sorted(fences) == [1, 2, 3]
    assert semaphore(permits).free == 0


@pytest.mark.usefixtures("atomic")
def test_a_crowd_that_finds_lapsed_leases_reclaims_each_once(permits: Permits, world: World, ask: Ask) -> None:
    for number in range(3):
        ask(f"dead {number}", limit=3)
    world.clock.advance(LEASE_S + SKEW_S)
    with ThreadPoolExecutor(16) as threads:
        asked = list(threads.map(lambda n: ask(f"h{n}"), range(30)))
    assert sum(lease is not None for lease in asked) <= 3
    found = semaphore(permits)
    assert len(found.live(permits.now_ms())) == 3 - found.free


@pytest.mark.usefixtures("atomic")
def test_a_limit_changed_by_many_at_once_still_adds_up(permits: Permits, ask: Ask) -> None:
    ask("a", limit=5)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda limit: permits.set_limit("model", limit=limit), range(4)))
    assert semaphore(permits).limit in range(4)
