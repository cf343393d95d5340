"""Permits, breakers and rate limits against small models in memory: any order of calls, deaths, late ones and clocks.

Each machine runs the real thing on moto and says beforehand what must come of each step.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from moto import mock_aws

from isolane.breaker import KEPT_S, Breaker
from isolane.circuit import Closed, Open, Probe, Rules
from isolane.permits import Permits
from isolane.rate_limit import RateLimit
from isolane.semaphore import SKEW_MS, Lease, permits_of
from tests.faults.clients import connect
from tests.faults.failing_client import Process, at
from tests.faults.faults import LoseAnswer
from tests.faults.schedule import share
from tests.world import World

BOUNDED = settings(max_examples=share(15), stateful_step_count=25, deadline=None)
HOLDERS = st.sampled_from(["a", "b", "c", "#holder", "e.f[0]"])
MOMENTS_S = st.sampled_from([0.001, 0.5, 1.0, 2.0, 4.999, 5.0, 30.0])
SKEWS_S = st.sampled_from([-1.0, 0.0, 1.0])


class OnMoto(RuleBasedStateMachine):
    """A machine with tables of its own and a clock that passes as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        self.world = World(partial(connect, signed=False))
        self.world.make_tables()
        self.clock = self.world.clock

    def teardown(self) -> None:
        self.stack.close()

    @rule(seconds=MOMENTS_S)
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)


@dataclass
class Model:
    """What a semaphore promises."""

    limit: int
    fence: int = 0
    leases: dict[str, Lease] = field(default_factory=dict)

    @property
    def free(self) -> int:
        return self.limit - permits_of(self.leases.values())

    def holds(self, lease: Lease) -> bool:
        current = self.leases.get(lease.holder)
        return current is not None and current.fence == lease.fence

    def dead(self, now_ms: int) -> list[Lease]:
        return [lease for lease in self.leases.values() if lease.until_ms + SKEW_MS <= now_ms]

    def live_permits(self, now_ms: int) -> int:
        return permits_of(lease for lease in self.leases.values() if lease.until_ms > now_ms)

    def answer(self, holder: str, *, count: int, now_ms: int) -> Lease | bool:
        """The lease that the holder has already, or whether it gets a new one; the dead make room only if they must."""
        mine, dead = self.leases.get(holder), self.dead(now_ms)
        if mine is not None and mine not in dead:
            return mine if mine.until_ms > now_ms and mine.count == count else False
        if self.free < count or mine is not None:
            if self.free + permits_of(dead) < count:
                return False
            for lease in dead:
                del self.leases[lease.holder]
        return True


class PermitsMachine(OnMoto):
    """A holder that crashes is one that never says anything again; a late or doubled release is one of an old lease."""

    def __init__(self) -> None:
        super().__init__()
        self.permits = Permits(self.world.state, self.clock)
        self.permits.set_limit("model", limit=2)
        self.model = Model(limit=2)
        self.given: list[Lease] = []

    def at(self, skew_s: float) -> Permits:
        """A process whose clock is off by that much."""
        return replace(self.permits, clock=lambda: self.clock() + skew_s)

    @rule(holder=HOLDERS, count=st.integers(1, 3), lease_s=st.sampled_from([5.0, 30.0]), skew_s=SKEWS_S)
    def ask(self, holder: str, count: int, lease_s: float, skew_s: float) -> None:
        permits = self.at(skew_s)
        expected = self.model.answer(holder, count=count, now_ms=permits.now_ms())
        lease = permits.acquire("model", holder=holder, lease_s=lease_s, count=count)
        if isinstance(expected, Lease):
            assert lease == expected
        elif lease is not None:
            self.check_new(lease, permits=permits, lease_s=lease_s, count=count)
        assert (lease is not None) is bool(expected)

    def check_new(self, lease: Lease, *, permits: Permits, lease_s: float, count: int) -> None:
        assert lease.fence > self.model.fence
        assert (lease.count, lease.until_ms) == (count, permits.now_ms() + int(lease_s * 1000))
        self.model.leases[lease.holder], self.model.fence = lease, lease.fence
        self.given.append(lease)
        assert self.model.live_permits(self.permits.now_ms()) <= self.model.limit

    @precondition(lambda self: self.given)
    @rule(data=st.data(), skew_s=SKEWS_S)
    def renew(self, data: Any, skew_s: float) -> None:
        lease = data.draw(st.sampled_from(self.given))
        held = self.model.holds(lease)
        renewed = self.at(skew_s).renew(lease, lease_s=5)
        assert (renewed is not None) is held
        if renewed is not None:
            self.model.leases[lease.holder] = renewed

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def release(self, data: Any) -> None:
        lease = data.draw(st.sampled_from(self.given))
        self.permits.release(lease)
        if self.model.holds(lease):
            del self.model.leases[lease.holder]

    @rule(limit=st.integers(0, 5))
    def set_limit(self, limit: int) -> None:
        self.permits.set_limit("model", limit=limit)
        self.model.limit = limit

    @invariant()
    def the_row_is_as_promised(self) -> None:
        row = self.permits.find("model")
        assert row is not None
        assert permits_of(row.leases.values()) + row.free == row.limit
        assert (row.limit, row.fence, dict(row.leases)) == (self.model.limit, self.model.fence, self.model.leases)

    def teardown(self) -> None:
        self.all_permits_return()
        super().teardown()

    def all_permits_return(self) -> None:
        self.clock.advance(1_000)
        limit = max(1, self.model.limit)
        self.permits.set_limit("model", limit=limit)
        assert self.permits.acquire("model", holder="last", lease_s=1, count=limit) is not None


RULES = Rules(failures=3, window_s=10, open_s=5, longest_open_s=60, probe_s=5)


@dataclass
class BreakerModel:
    """What a breaker promises; times in milliseconds."""

    failed_at: list[int] = field(default_factory=list)
    open_until: int | None = None
    probe: Probe | None = None
    probe_until: int = 0

    def verdict(self, now: int) -> type[Closed | Open | Probe]:
        if self.open_until is None:
            return Closed
        busy = self.probe is not None and self.probe_until > now
        return Open if self.open_until > now or busy else Probe

    def fails(self, now: int, *, probe: Probe | None) -> None:
        if probe is not None and probe == self.probe:
            self.opens(now + int(RULES.open_s * 1000))
        elif self.open_until is None:
            self.failed_at = [*(at for at in self.failed_at if at > now - RULES.window_s * 1000), now]
            if len(self.failed_at) == RULES.failures:
                self.opens(now + int(RULES.open_s * 1000))

    def is_asked_for_time(self, now: int, *, retry_after_s: float) -> None:
        until = now + int(min(retry_after_s, RULES.longest_open_s) * 1000)
        if self.open_until is None or self.open_until <= now or until >= self.open_until + 1000:
            self.opens(max(until, self.open_until or 0))

    def opens(self, until: int) -> None:
        self.failed_at, self.open_until, self.probe = [], until, None

    def succeeds(self, probe: Probe) -> None:
        if probe == self.probe:
            self.open_until, self.probe = None, None

    def gets_back(self, probe: Probe) -> None:
        self.probe = None if probe == self.probe else self.probe


class BreakerMachine(OnMoto):
    """A worker that remembers for a second, and others that remember nothing; any of them may die with its probe."""

    def __init__(self) -> None:
        super().__init__()
        self.remembering = self.worker()
        self.model = BreakerModel()
        self.changed_at = 0
        self.probes: list[Probe] = []

    @property
    def now(self) -> int:
        return int(self.clock() * 1000)

    def worker(self) -> Breaker:
        return Breaker(self.world.state, RULES, self.clock)

    @rule()
    def a_call_fails(self) -> None:
        self.worker().failed("model")
        self.model.fails(self.now, probe=None)
        self.changed_at = self.now

    @rule(retry_after_s=st.sampled_from([1.0, 20.0, 100.0]))
    def the_provider_asks_for_time(self, retry_after_s: float) -> None:
        self.worker().failed("model", retry_after_s=retry_after_s)
        self.model.is_asked_for_time(self.now, retry_after_s=retry_after_s)
        self.changed_at = self.now

    @rule()
    def somebody_checks(self) -> None:
        expected = self.model.verdict(self.now)
        verdict = self.worker().check("model")
        assert isinstance(verdict, expected)
        if isinstance(verdict, Open) and self.model.probe is None:
            assert verdict.retry_after_s == ((self.model.open_until or 0) - self.now) / 1000
        self.note(verdict)

    @rule()
    def one_checks_from_memory(self) -> None:
        expected = self.model.verdict(self.now)
        verdict = self.remembering.check("model")
        if self.now - self.changed_at > KEPT_S * 1000 or isinstance(verdict, Probe):
            assert isinstance(verdict, expected)
        self.note(verdict)

    def note(self, verdict: Closed | Open | Probe) -> None:
        if isinstance(verdict, Probe):
            self.model.probe, self.model.probe_until = verdict, self.now + int(RULES.probe_s * 1000)
            self.changed_at = self.now
            self.probes.append(verdict)

    @precondition(lambda self: self.probes)
    @rule(data=st.data(), how=st.sampled_from(["succeeds", "fails", "is given back"]))
    def a_probe_ends(self, data: Any, how: str) -> None:
        """Any probe that ever was, and so often one that is late."""
        probe, worker = data.draw(st.sampled_from(self.probes)), self.worker()
        if how == "succeeds":
            worker.succeeded("model", probe=probe)
            self.model.succeeds(probe)
        elif how == "fails":
            worker.failed("model", probe=probe)
            self.model.fails(self.now, probe=probe)
        else:
            worker.give_back("model", probe)
            self.model.gets_back(probe)
        self.changed_at = self.now

    @invariant()
    def the_row_stays_small(self) -> None:
        assert len(self.worker().find("model").failed_at_ms) < RULES.failures


TestPermits = PermitsMachine.TestCase
TestPermits.settings = BOUNDED
TestBreaker = BreakerMachine.TestCase
TestBreaker.settings = BOUNDED


TAKES = st.lists(st.tuples(st.integers(0, 16), st.integers(1, 3), st.booleans()), min_size=1, max_size=25)


@settings(max_examples=share(25), deadline=None)
@given(takes=TAKES)
def test_a_lost_answer_may_charge_once_more_and_never_lets_more_through(takes: list[tuple[int, int, bool]]) -> None:
    """Levels of two buckets: one charged for what was allowed, one for what was sent again, too."""
    with mock_aws():
        world = World(partial(connect, signed=False))
        world.make_tables()
        limit = RateLimit(world.values.table, limit=4, period_s=2, burst=6, clock=world.clock)
        allowed_level = most_level = 0.0
        for quarters, cost, lost in takes:
            world.clock.advance(quarters / 4)
            allowed_level, most_level = max(0.0, allowed_level - quarters / 2), max(0.0, most_level - quarters / 2)
            plan = at(1, LoseAnswer(retry=True)) if lost else at(0, LoseAnswer())
            with Process(plan=plan).attached(limit.table.client):
                allowed = limit.take("ann", cost=cost).allowed
            if allowed:
                assert allowed_level + cost <= 6
            else:
                assert most_level + (2 if lost else 1) * cost > 6
            allowed_level += cost * allowed
            most_level += cost * (allowed + lost)
