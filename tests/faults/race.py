"""What is walked through by schedules, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from tests.faults.calls import KeyNames, no_keys
from tests.faults.failing_client import Plan
from tests.faults.results import Row, headline
from tests.faults.stage import Act, Choice, Outcome, Step

W = TypeVar("W")
Outcomes = Mapping[str, Outcome]


class ScheduleFailed(AssertionError):
    """An invariant did not hold after a schedule."""


@dataclass(frozen=True, kw_only=True)
class Race(Generic[W]):
    """Actors over one world.

    `setup` makes the world anew for each schedule; `connect` makes the clients of one actor, once; `settle` drives the
    world to rest afterwards, as redelivery and sweeper would; `invariant` raises when the world is not as promised.
    `plans` makes, for each schedule, the faults that an actor meets; `keys` names the keys of the world's tables, so
    that a PutItem disturbs one item and not a whole table. An actor may end with one of `may_raise`; anything else that
    it raises is a violation.
    """

    name: str
    setup: Callable[[], W]
    actors: Mapping[str, Act[W]]
    invariant: Callable[[W, Outcomes], object]
    settle: Callable[[W], object] = lambda _world: None
    connect: Callable[[], Mapping[str, Any]] = dict
    plans: Mapping[str, Callable[[], Plan]] = field(default_factory=dict)
    keys: Callable[[W], KeyNames] = no_keys
    may_raise: tuple[type[BaseException], ...] = ()
    patience_s: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A schedule after which an invariant did not hold, as steps to read and choices to replay."""

    race: str
    error: BaseException
    trace: Sequence[Step]
    choices: Sequence[Choice]
    origin: str

    def __str__(self) -> str:
        steps = "\n".join(f"  {number}. {step}" for number, step in enumerate(self.trace, start=1))
        again = " ".join(map(str, self.choices))
        return f"{self.race}: {headline(self.error)}\n{steps}\n  replay(race, {again!r})  # {self.origin}"


@dataclass(kw_only=True)
class Report:
    """What a walk over schedules did. `pruned` runs were broken off because their rest had been tried already."""

    race: str
    kind: Literal["all orders", "random", "replay"]
    origin: str = ""
    ran: int = 0
    pruned: int = 0
    deaths: int = 0
    exhaustive: bool = True
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    def check(self) -> "Report":
        """Raises the first failure, if there is one."""
        if self.failures:
            raise ScheduleFailed(str(self.failures[0])) from self.failures[0].error
        return self

    def row(self) -> Row:
        """The report as a row of the table of results."""
        counted = {"interleavings" if self.kind == "all orders" else "schedules": self.ran}
        bound = "bounded" if self.kind == "all orders" and not self.exhaustive else ""
        return Row(
            flow=self.race,
            crash_points=self.deaths,
            violations=len(self.failures),
            seconds=self.seconds,
            notes=" ".join(note for note in (self.origin if self.kind == "random" else "", bound) if note),
            **counted,
        )
