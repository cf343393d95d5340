"""The breaker, on every backend: opened by failures or by the provider, tried by one, the same for all workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from isolane.breaker import KEPT_S, Breaker
from isolane.circuit import Circuit, Closed, Open, Probe, Rules
from tests.world import World

RULES = Rules(failures=3, window_s=60, open_s=30, longest_open_s=600, probe_s=20)


@pytest.fixture
def worker(world: World) -> Callable[[], Breaker]:
    """Another process: a breaker that remembers nothing yet."""
    return lambda: Breaker(world.state, RULES, world.clock)


@pytest.fixture
def breaker(worker: Callable[[], Breaker]) -> Breaker:
    return worker()


def fail(breaker: Breaker, *, times: int = RULES.failures) -> None:
    for _ in range(times):
        breaker.failed("model")


def probe_of(breaker: Breaker) -> Probe:
    verdict = breaker.check("model")
    assert isinstance(verdict, Probe)
    return verdict


def opened_and_over(breaker: Breaker, world: World) -> None:
    fail(breaker)
    world.clock.advance(RULES.open_s)


def test_a_breaker_of_which_nobody_knows_is_closed(breaker: Breaker) -> None:
    assert breaker.check("model") == Closed()
    assert breaker.find("model") == Circuit()


def test_failures_within_the_window_open_it(breaker: Breaker, world: World) -> None:
    for _ in range(RULES.failures):
        assert breaker.check("model") == Closed()
        breaker.failed("model")
        world.clock.advance(RULES.window_s / RULES.failures - 0.1)
    assert isinstance(breaker.check("model"), Open)


def test_failures_further_apart_do_not(breaker: Breaker, world: World) -> None:
    for _ in range(3 * RULES.failures):
        breaker.failed("model")
        world.clock.advance(RULES.window_s / (RULES.failures - 1))
    assert breaker.check("model") == Closed()
    assert len(breaker.find("model").failed_at_ms) < RULES.failures


def test_the_providers_own_retry_after_opens_it_at_once(breaker: Breaker) -> None:
    breaker.failed("model", retry_after_s=7)
    assert breaker.check("model") == Open(retry_after_s=7)


def test_a_retry_after_of_days_is_cut(breaker: Breaker) -> None:
    breaker.failed("model", retry_after_s=86_400)
    assert breaker.check("model") == Open(retry_after_s=600)


def test_a_retry_after_of_nothing_lets_one_try_at_once(breaker: Breaker) -> None:
    breaker.failed("model", retry_after_s=0)
    assert isinstance(breaker.check("model"), Probe)


def test_an_open_breaker_is_never_opened_for_less(breaker: Breaker) -> None:
    breaker.failed("model", retry_after_s=100)
    breaker.failed("model", retry_after_s=7)
    fail(breaker)
    assert breaker.check("model") == Open(retry_after_s=100)
    breaker.failed("model", retry_after_s=200)
    assert breaker.check("model") == Open(retry_after_s=200)


def test_one_breaker_is_not_anothers(breaker: Breaker) -> None:
    fail(breaker)
    assert breaker.check("another model") == Closed()


def test_all_workers_see_it_within_a_second(worker: Callable[[], Breaker], world: World) -> None:
    one, another = worker(), worker()
    assert another.check("model") == Closed()
    fail(one)
    assert isinstance(one.check("model"), Open)
    world.clock.advance(KEPT_S)
    assert isinstance(another.check("model"), Open)


def test_failures_of_all_workers_count_together(worker: Callable[[], Breaker]) -> None:
    for _ in range(RULES.failures):
        worker().failed("model")
    assert isinstance(worker().check("model"), Open)


def test_when_its_time_is_over_one_may_try(worker: Callable[[], Breaker], world: World) -> None:
    one, another = worker(), worker()
    opened_and_over(one, world)
    probe_of(one)
    assert one.check("model") == Open(retry_after_s=2)
    assert another.check("model") == Open(retry_after_s=2)


def test_a_probe_that_succeeds_closes_it_for_all(worker: Callable[[], Breaker], world: World) -> None:
    one, another = worker(), worker()
    opened_and_over(one, world)
    one.succeeded("model", probe=probe_of(one))
    assert one.check("model") == another.check("model") == Closed()
    fail(one, times=RULES.failures - 1)
    assert worker().check("model") == Closed()


def test_a_probe_that_fails_opens_it_again(breaker: Breaker, world: World) -> None:
    opened_and_over(breaker, world)
    breaker.failed("model", probe=probe_of(breaker))
    assert breaker.check("model") == Open(retry_after_s=RULES.open_s)


def test_a_probe_that_died_frees_its_place(worker: Callable[[], Breaker], world: World) -> None:
    one, another = worker(), worker()
    opened_and_over(one, world)
    dead = probe_of(one)
    world.clock.advance(RULES.probe_s - 0.5)
    assert another.check("model") == Open(retry_after_s=0.5)
    world.clock.advance(0.5)
    assert probe_of(another) != dead


def test_a_probe_given_back_lets_another_try_at_once(worker: Callable[[], Breaker], world: World) -> None:
    one, another = worker(), worker()
    opened_and_over(one, world)
    one.give_back("model", probe_of(one))
    probe_of(another)


def test_a_late_probe_touches_nobody_elses(breaker: Breaker, world: World) -> None:
    opened_and_over(breaker, world)
    late = probe_of(breaker)
    world.clock.advance(RULES.probe_s)
    current = probe_of(breaker)
    breaker.succeeded("model", probe=late)
    breaker.failed("model", probe=late)
    breaker.give_back("model", late)
    assert breaker.find("model").probe == current.token


def test_a_call_that_began_before_it_opened_does_not_end_the_probe(breaker: Breaker, world: World) -> None:
    opened_and_over(breaker, world)
    probe = probe_of(breaker)
    breaker.failed("model")
    breaker.succeeded("model")
    breaker.succeeded("model", probe=probe)
    assert breaker.check("model") == Closed()


def test_a_provider_that_asks_for_time_is_not_probed_on(breaker: Breaker, world: World) -> None:
    opened_and_over(breaker, world)
    probe = probe_of(breaker)
    breaker.failed("model", retry_after_s=100)
    breaker.succeeded("model", probe=probe)
    assert breaker.check("model") == Open(retry_after_s=100)


@pytest.mark.usefixtures("atomic")
def test_of_a_crowd_one_tries(worker: Callable[[], Breaker], world: World) -> None:
    opened_and_over(worker(), world)
    shared, workers = worker(), [worker() for _ in range(8)]
    with ThreadPoolExecutor(16) as threads:
        verdicts = list(threads.map(lambda it: it.check("model"), [*workers, *[shared] * 8]))
    assert sum(isinstance(verdict, Probe) for verdict in verdicts) == 1
    assert sum(isinstance(verdict, Open) for verdict in verdicts) == 15


@pytest.mark.usefixtures("atomic")
@pytest.mark.parametrize("retry_after_s", [None, 50])
def test_of_a_crowd_every_failure_counts_and_none_is_an_error(
    worker: Callable[[], Breaker], retry_after_s: float | None
) -> None:
    workers = [worker() for _ in range(16)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda it: it.failed("model", retry_after_s=retry_after_s), workers))
    assert worker().check("model") == Open(retry_after_s=retry_after_s or RULES.open_s)
