"""The interleaving walk: several actors over one world, in every order that can make a difference, or at random.

race = Race(
    name="two deliveries of one message",
    setup=fresh_world,
    actors={"A": deliver, "B": deliver},          # deliver(world, turn): uses turn.clients
    connect=lambda: {"dynamodb": client(), "sqs": client()},
    invariant=completed_once,                      # completed_once(world, outcomes): raises when it does not hold
)
explore(race).check()
random_schedules(crowd, n=share(200), seed=7).check()
replay(race, "A B A A:before B").check()
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from tests.faults.race import Race, Report, ScheduleFailed
from tests.faults.reduction import Death, Explorer
from tests.faults.stage import Act, Turn
from tests.faults.theatre import Drawn, Theatre, Told

__all__ = [
    "Race",
    "Report",
    "ScheduleFailed",
    "explore",
    "random_schedules",
    "replay",
    "share",
    "thorough",
    "time_passes",
]

W = TypeVar("W")

_ALL_SCHEDULES = 2_000
_USUAL_SCHEDULES = 100


def explore(
    race: Race[W],
    *,
    depth: int = 6,
    limit: int = 20_000,
    seed: int = 0,
    dying: Sequence[str] = (),
    keep_going: bool = False,
    reduce: bool = True,
) -> Report:
    """Runs the actors in every order that can differ, counting only the first `depth` calls of each.

    `dying`: actors that, in walks of their own, die at each of their steps in turn, before and after it is applied.
    Stops at the first failure unless `keep_going`; after `limit` schedules it stops with `exhaustive` False.
    """
    report = Report(race=race.name, kind="all orders", origin=f"depth {depth}, seed {seed}")
    with _performing(race, report=report) as theatre:
        walk = _Walk(report, theatre=theatre, limit=limit, keep_going=keep_going)
        walk.through(Explorer(depth=depth, seed=seed, reduce=reduce))
        for actor in dying:
            for side in ("before", "after"):
                walk.through_deaths(lambda death: Explorer(depth=depth, seed=seed, death=death), actor=actor, side=side)
    return report


def random_schedules(
    race: Race[W], *, n: int, seed: int, deaths: float = 0.0, only: int | None = None, keep_going: bool = False
) -> Report:
    """Runs the actors in `n` orders drawn from `seed`; in a share `deaths` of them somebody dies at some step.

    `only` runs the one of that number (from 0) again.
    """
    report = Report(race=race.name, kind="random", origin=f"seed {seed}", exhaustive=False)
    with _performing(race, report=report) as theatre:
        for number in range(n) if only is None else (only,):
            chance = random.Random(f"{seed}:{number}")
            run = theatre.perform(Drawn(chance, deaths=deaths), origin=f"seed {seed}, schedule {number}")
            run.tell(report)
            if report.failures and not keep_going:
                break
    return report


def replay(race: Race[W], choices: str) -> Report:
    """Runs one schedule again: actors in the order of their turns, `A:before` or `A:after` where one dies.

    When the choices have run out, the actors go on one after the other.
    """
    report = Report(race=race.name, kind="replay", origin="replay", exhaustive=False)
    with _performing(race, report=report) as theatre:
        theatre.perform(Told(choices.split()), origin="replay").tell(report)
    return report


def time_passes(advance: Callable[[W], object], *, label: str = "time passes") -> Act[W]:
    """An actor whose one step moves the world's clock; it is tried at every place among the others' steps."""

    def act(world: W, turn: Turn) -> None:
        turn.do(label, lambda: advance(world))

    return act


def share(n: int) -> int:
    """`n` schedules where all 2,000 are run, or the same part of what the environment's SCHEDULES asks for (or 100)."""
    return max(1, n * _schedules() // _ALL_SCHEDULES)


def thorough() -> bool:
    """Whether the whole lab was asked for, as by `make faults`; `make test` runs a part that takes a minute."""
    return _schedules() >= _ALL_SCHEDULES


def _schedules() -> int:
    return int(os.environ.get("SCHEDULES", _USUAL_SCHEDULES))


@contextmanager
def _performing(race: Race[W], *, report: Report) -> Iterator[Theatre[W]]:
    start = time.perf_counter()
    with closing(Theatre(race)) as theatre:
        yield theatre
    report.seconds += time.perf_counter() - start


class _Walk:
    """Explorers let loose on one theatre, under one report."""

    def __init__(self, report: Report, *, theatre: Theatre[Any], limit: int, keep_going: bool) -> None:
        self._report = report
        self._theatre = theatre
        self._limit = limit
        self._keep_going = keep_going

    def through(self, explorer: Explorer) -> None:
        report = self._report
        while not self._over():
            self._theatre.perform(explorer, origin=report.origin).tell(report)
            if not explorer.next_run():
                break
        else:
            report.exhaustive = False
        report.exhaustive = report.exhaustive and not explorer.bounded

    def through_deaths(self, make: Callable[[Death], Explorer], *, actor: str, side: str) -> None:
        nth, died = 1, True
        while died and not self._over():
            explorer = make(Death(actor=actor, nth=nth, side=side))
            self.through(explorer)
            died = explorer.died
            self._report.deaths += died
            nth += 1

    def _over(self) -> bool:
        report = self._report
        return report.ran + report.pruned >= self._limit or (bool(report.failures) and not self._keep_going)
