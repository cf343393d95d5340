"""Performs one schedule of a race, as a chooser says whose turn it is."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tests.faults.race import Failure, Outcomes, Race, Report
from tests.faults.stage import Choice, Stage, Step

W = TypeVar("W")


class Chooser(Protocol):
    """Says whose turn it is."""

    def choose(self, pending: Mapping[str, Step]) -> Choice | None:
        """One of the pending actors, or None to break the run off."""


@dataclass(frozen=True, kw_only=True)
class Performance:
    """One run and how it came out; pruned if it was broken off."""

    pruned: bool = False
    failure: Failure | None = None

    def tell(self, report: Report) -> None:
        """Counts this run in a report."""
        report.pruned += self.pruned
        report.ran += not self.pruned
        if self.failure is not None:
            report.failures.append(self.failure)


class Theatre(Generic[W]):
    """The clients of each actor, kept between runs, and what it takes to perform one."""

    def __init__(self, race: Race[W]) -> None:
        self._race = race
        self._clients = {name: race.connect() for name in race.actors}
        mine = [id(client) for clients in self._clients.values() for client in clients.values()]
        if len(set(mine)) < len(mine):
            raise ValueError("each actor needs clients of its own: connect must make new ones")

    def close(self) -> None:
        """Closes the connections of all clients."""
        for clients in self._clients.values():
            for client in clients.values():
                getattr(client.meta, "client", client).close()

    def perform(self, chooser: Chooser, *, origin: str) -> Performance:
        """Makes a world, lets the actors take their turns in it, and judges it."""
        world = self._race.setup()
        stage = self._stage(world)
        choices: list[Choice] = []
        try:
            stage.open(world)
            while stage.pending:
                choice = chooser.choose(stage.pending)
                if choice is None:
                    return Performance(pruned=True)
                choices.append(choice)
                stage.take(choice)
        finally:
            stage.clear()
        return self._judged(world, stage=stage, choices=choices, origin=origin)

    def _stage(self, world: W) -> Stage[W]:
        race = self._race
        plans = {name: make() for name, make in race.plans.items()}
        return Stage(
            actors=race.actors, clients=self._clients, plans=plans, keys=race.keys(world), patience_s=race.patience_s
        )

    def _judged(self, world: W, *, stage: Stage[W], choices: list[Choice], origin: str) -> Performance:
        error = self._judge(world, stage.outcomes)
        if error is None:
            return Performance()
        name = self._race.name
        return Performance(failure=Failure(race=name, error=error, trace=stage.trace, choices=choices, origin=origin))

    def _judge(self, world: W, outcomes: Outcomes) -> BaseException | None:
        for outcome in outcomes.values():
            if outcome.error is not None and not outcome.died and not isinstance(outcome.error, self._race.may_raise):
                return outcome.error
        try:
            self._race.settle(world)
            self._race.invariant(world, outcomes)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the schedule that led to it
            return error
        return None


class Drawn:
    """Draws each turn: in half of the schedules evenly, in the others by an actor's rank, which changes now and then.

    An even draw seldom lets one actor run far ahead; ranks do.
    """

    def __init__(self, chance: random.Random, *, deaths: float) -> None:
        self._chance = chance
        self._ranked = chance.random() < 0.5
        self._ranks: dict[str, float] = {}
        self._until_death = chance.randrange(12) if chance.random() < deaths else None

    def choose(self, pending: Mapping[str, Step]) -> Choice:
        """The next turn of this schedule."""
        actor = self._by_rank(sorted(pending)) if self._ranked else self._chance.choice(sorted(pending))
        return Choice(actor=actor, dies=self._fate())

    def _by_rank(self, actors: Sequence[str]) -> str:
        for actor in actors:
            if actor not in self._ranks:
                self._ranks[actor] = self._chance.random()
        first = max(actors, key=self._ranks.__getitem__)
        if self._chance.random() < 0.2:
            self._ranks[first] = self._chance.random()
        return first

    def _fate(self) -> str:
        if self._until_death is None:
            return ""
        self._until_death -= 1
        return self._chance.choice(("before", "after")) if self._until_death == -1 else ""


class Told:
    """Takes turns as they are written down."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    def choose(self, pending: Mapping[str, Step]) -> Choice:
        """The next turn of this schedule."""
        if not self._words:
            return Choice(actor=min(pending))
        actor, _, dies = self._words.pop(0).partition(":")
        if actor not in pending:
            raise ValueError(f"it cannot be {actor}'s turn: only {sorted(pending)} have a step to take")
        return Choice(actor=actor, dies=dies)
