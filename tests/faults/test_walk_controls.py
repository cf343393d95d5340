"""Permits, breakers and rate limits struck at each of their calls, and in every order of two who want the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from isolane.breaker import Breaker
from isolane.circuit import Closed, Probe, Rules
from isolane.errors import Contended, Unavailable
from isolane.permits import Permits
from isolane.rate_limit import RateLimit
from isolane.semaphore import SKEW_MS, Lease, permits_of
from tests.faults.clients import connect, new_client
from tests.faults.crash_walk import CONFLICTS, DEATHS, LOST_ANSWERS, REFUSALS, crash_walk
from tests.faults.failing_client import Process, at
from tests.faults.faults import Conflict, LoseAnswer, Refuse, Unreachable
from tests.faults.quick import quick_moto
from tests.faults.results import Results
from tests.faults.schedule import Race, explore
from tests.faults.stage import Outcome, Turn
from tests.world import World

LIMIT = 2
LEASE_S = 30.0
LAPSE_S = LEASE_S + SKEW_MS / 1000
ALL_FAULTS = [*DEATHS, *LOST_ANSWERS, *REFUSALS, *CONFLICTS]
RULES = Rules(failures=2, open_s=10, probe_s=20)

Setup = Callable[[World], World]
Actor = Callable[[World, Turn], Lease | None]


@pytest.fixture
def world() -> Iterator[World]:
    with quick_moto():
        world = World(partial(connect, signed=False))
        world.make_tables()
        yield world


def nothing_there(world: World) -> World:
    """As if nobody had asked for anything yet."""
    for name in ("permits", "breaker"):
        world.state.delete({"pk": f"{name}#model", "sk": name})
    return world


def two_dead(world: World) -> World:
    """Both permits are held by holders that have died, x with lease 1 and y with lease 2."""
    nothing_there(world)
    for dead in ("x", "y"):
        take(permits_of_world(world), dead)
    world.clock.advance(LAPSE_S)
    return world


def permits_of_world(world: World, client: Any = None) -> Permits:
    table = world.state if client is None else type(world.state)(client, world.state.name)
    return Permits(table, world.clock, world.clock.advance)


def take(permits: Permits, holder: str, *, count: int = 1) -> Lease | None:
    return permits.acquire("model", holder=holder, lease_s=LEASE_S, count=count, limit=LIMIT)


def adds_up(world: World) -> None:
    """Leases + free = limit, and no more live than there may be."""
    permits = permits_of_world(world)
    found = permits.find("model")
    if found is not None:
        assert permits_of(found.leases.values()) + found.free == found.limit
        assert permits_of(found.live(permits.now_ms())) <= found.limit


def all_permits_return(world: World) -> None:
    world.clock.advance(LAPSE_S)
    assert take(permits_of_world(world), "last", count=LIMIT) is not None


@dataclass
class Work:
    """A flow: take both permits, the places of two dead holders, renew them and give them back."""

    world: World
    name = "permits: take the dead's, renew, release"

    def setup(self) -> World:
        return two_dead(self.world)

    def run(self, world: World, process: Process) -> None:
        with process.attached(world.client("dynamodb")):
            permits = permits_of_world(world)
            lease = take(permits, "a", count=LIMIT)
            assert lease is not None
            renewed = permits.renew(lease, lease_s=LEASE_S)
            assert renewed is not None
            permits.release(renewed)

    def recover(self, world: World) -> None:
        adds_up(world)

    def invariants(self, world: World) -> None:
        all_permits_return(world)
        adds_up(world)


class First(Work):
    """The same, for the first of a name."""

    name = "permits: the first of a name"

    def setup(self) -> World:
        return nothing_there(self.world)


@dataclass
class Opening:
    """A flow: failures open the breaker, and when its time is over a probe closes it."""

    world: World
    name = "breaker: open, probe, close"

    def setup(self) -> World:
        return nothing_there(self.world)

    def run(self, world: World, process: Process) -> None:
        with process.attached(world.client("dynamodb")):
            breaker = Breaker(world.state, RULES, world.clock)
            for _ in range(RULES.failures):
                breaker.failed("model")
            world.clock.advance(RULES.open_s)
            probe = breaker.check("model")
            assert isinstance(probe, Probe)
            breaker.succeeded("model", probe=probe)

    def recover(self, world: World) -> None:
        """A dead probe has lapsed, and the next call succeeds."""
        world.clock.advance(RULES.open_s + RULES.probe_s)
        breaker = Breaker(world.state, RULES, world.clock)
        verdict = breaker.check("model")
        breaker.succeeded("model", probe=verdict if isinstance(verdict, Probe) else None)

    def invariants(self, world: World) -> None:
        assert Breaker(world.state, RULES, world.clock).check("model") == Closed()


@pytest.mark.parametrize("flow", [Work, First, Opening])
def test_whatever_befalls_a_call_all_permits_return_and_a_breaker_closes(
    world: World, flow: Any, results: Results
) -> None:
    report = crash_walk(flow(world), faults=ALL_FAULTS).check()
    results.add(report.row())
    assert report.points >= 3 * len(REFUSALS)


@pytest.mark.parametrize("how", ["reset", "timeout", "server error"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("setup", [nothing_there, two_dead])
def test_a_lease_whose_answer_was_lost_is_had_all_the_same(world: World, setup: Setup, nth: int, how: Any) -> None:
    """The first write finds no row or no room, and the second is the one that takes; the SDK sends either again."""
    setup(world)
    with Process(plan=at(nth, LoseAnswer(how=how, retry=True))).attached(world.client("dynamodb")):
        lease = take(permits_of_world(world), "a", count=LIMIT)
    assert permits_of_world(world).holders("model") == [lease]
    adds_up(world)


def test_a_holder_that_never_heard_of_its_lease_asks_again_and_gets_it(world: World) -> None:
    permits = permits_of_world(two_dead(world))
    with Process(plan=at(2, LoseAnswer(retry=False))).attached(world.client("dynamodb")), pytest.raises(Unavailable):
        take(permits, "a", count=LIMIT)
    assert take(permits, "a", count=LIMIT) is not None
    assert take(permits, "b") is None
    adds_up(world)


def test_a_process_that_slept_over_another_lapse_removes_only_what_it_saw(world: World) -> None:
    """It sees x dead with two permits; before it acts, x is back for one, has died again, and z has the other."""
    permits = permits_of_world(world)
    first = take(permits, "x", count=2)
    assert first is not None
    world.clock.advance(LAPSE_S)

    def meanwhile() -> None:
        permits.release(first)
        take(permits, "x")
        world.clock.advance(LAPSE_S)
        take(permits, "z")

    looks = iter([lambda: None, lambda: None, meanwhile])  # when it sets out, writes, and has seen

    def clock() -> float:
        next(looks, lambda: None)()
        return world.clock()

    assert take(replace(permits, clock=clock), "a") is not None
    assert [lease.holder for lease in permits.holders("model")] == ["z", "a"]
    adds_up(world)


def test_a_limit_whose_change_was_lost_is_changed_once(world: World) -> None:
    permits = permits_of_world(world)
    take(permits, "a")
    with Process(plan=at(2, LoseAnswer(retry=True))).attached(world.client("dynamodb")):
        permits.set_limit("model", limit=5)
    found = permits.find("model")
    assert found is not None
    assert (found.limit, found.free) == (5, 4)


NO_ANSWER = [
    (Refuse(error="throttled", times=None, retry=False), Unavailable),
    (Refuse(error="server error", times=None, retry=False), Unavailable),
    (Unreachable(times=None, retry=False), Unavailable),
    (Conflict(), Contended),
]


@pytest.mark.parametrize(("fault", "error"), NO_ANSWER)
@pytest.mark.parametrize("nth", [1, 2])
def test_without_the_stores_answer_there_is_no_permit(
    world: World, nth: int, fault: Any, error: type[Exception]
) -> None:
    permits = permits_of_world(two_dead(world))
    with Process(plan=at(nth, fault)).attached(world.client("dynamodb")), pytest.raises(error):
        permits.acquire("model", holder="a", lease_s=1, limit=LIMIT, wait_s=60)
    assert permits.holders("model") == []


def test_a_release_that_the_store_does_not_answer_is_not_raised_over_the_work(world: World) -> None:
    permits = permits_of_world(world)
    process = Process(plan=at(3, Unreachable(times=None, retry=False)))
    with process.attached(world.client("dynamodb")), permits.held("model", holder="a", lease_s=LEASE_S, limit=LIMIT):
        pass
    assert [call.outcome for call in process.calls][2:] == ["EndpointConnectionError"]
    assert [lease.holder for lease in permits.holders("model")] == ["a"]
    all_permits_return(world)


@pytest.mark.parametrize("nth", [1, 2])
def test_a_rate_that_the_store_does_not_answer_for_is_not_taken_for_allowed(world: World, nth: int) -> None:
    limit = RateLimit(world.values.table, limit=1, period_s=60, clock=world.clock)
    plan = at(nth, Refuse(error="throttled", times=None, retry=False))
    with Process(plan=plan).attached(world.client("dynamodb")), pytest.raises(Unavailable):
        limit.take("ann")


def nobody_is_let_down(world: World, outcomes: Mapping[str, Outcome]) -> None:
    adds_up(world)
    leases = [it.value for it in outcomes.values() if isinstance(it.value, Lease)]
    assert len({lease.fence for lease in leases}) == len(leases), "two leases of one number"
    held = permits_of_world(world).holders("model")
    assert all(lease in held for lease in leases), "somebody was told that it has a lease, and has none"
    all_permits_return(world)
    adds_up(world)


def takes(holder: str, *, count: int = 1) -> Actor:
    return lambda world, turn: take(permits_of_world(world, turn.clients["dynamodb"]), holder, count=count)


def lease_of_the_dead(holder: str) -> Lease:
    return Lease(name="model", holder=holder, count=1, until_ms=0, fence={"x": 1, "y": 2}[holder])


def renews(holder: str) -> Actor:
    """Is late, and renews or finds its lease gone."""

    def act(world: World, turn: Turn) -> Lease | None:
        permits = permits_of_world(world, turn.clients["dynamodb"])
        return permits.renew(lease_of_the_dead(holder), lease_s=LEASE_S)

    return act


def comes_back(holder: str) -> Actor:
    """Gives its old lease back, late, and asks for a new one."""

    def act(world: World, turn: Turn) -> Lease | None:
        permits = permits_of_world(world, turn.clients["dynamodb"])
        permits.release(lease_of_the_dead(holder))
        return take(permits, holder)

    return act


RACES: Mapping[str, tuple[Mapping[str, Actor], Setup]] = {
    "two who are the first": ({"A": takes("a", count=2), "B": takes("b", count=2)}, nothing_there),
    "two who want the dead's places": ({"A": takes("a", count=2), "B": takes("b", count=2)}, two_dead),
    "one wants the dead's, who renews": ({"A": takes("a"), "X": renews("x")}, two_dead),
    "one wants the dead's, who comes back": ({"A": takes("a"), "X": comes_back("x")}, two_dead),
    "one wants both, one its own again": ({"A": takes("a", count=2), "X": takes("x")}, two_dead),
}


@pytest.mark.parametrize("name", RACES)
def test_in_every_order_no_more_are_out_than_there_are(world: World, name: str, results: Results) -> None:
    actors, setup = RACES[name]
    race = Race(
        name=f"permits: {name}",
        setup=lambda: setup(world),
        actors=actors,
        invariant=nobody_is_let_down,
        connect=lambda: {"dynamodb": new_client("dynamodb", signed=False)},
    )
    report = explore(race, dying=["A"]).check()
    results.add(report.row())
    assert report.exhaustive
