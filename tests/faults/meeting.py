"""Actors who meet, what has happened before, and how such a meeting is walked through in a lab."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults import acts
from tests.faults.acts import Do, as_actor
from tests.faults.broken import Broken
from tests.faults.case import Case, Step
from tests.faults.invariants import check
from tests.faults.lab import Lab
from tests.faults.race import Outcomes, Race
from tests.faults.schedule import time_passes


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Some actors and what has happened before; `ends` are the states in which the first task may come to rest."""

    name: str
    actors: Mapping[str, Do]
    before: Do = acts.nothing
    time: float = 0.0
    """Seconds that pass in one step of their own, at every place among the others' steps; 0 where time stands still."""
    ends: Sequence[str] = ("completed",)
    script: Sequence[Step] = (None,)
    dying: Sequence[str] = field(default=())
    """Who dies at each of their steps in turn, in walks of their own."""
    most: int = 5_000
    """Orders that are tried, where all are asked for."""
    few: int = 20
    """The same, where they are not."""


def race_of(meeting: Meeting, lab: Lab) -> Race[Case]:
    """The meeting in a lab, as the scheduler wants it."""

    def setup() -> Case:
        case = lab.begin(script=meeting.script)
        meeting.before(lab, case, lab.aws)
        lab.observe()
        return case

    def judge(case: Case, outcomes: Outcomes) -> None:
        check(case)
        died = any(outcome.died for outcome in outcomes.values())
        if case.ended not in meeting.ends and not (died and case.ended in ("", "failed")):
            raise Broken(f"the task ended as {case.ended}")

    actors = {name: as_actor(lab, do) for name, do in meeting.actors.items()}
    if meeting.time:
        actors["T"] = time_passes(lambda _: lab.pass_time(meeting.time), label=f"{meeting.time:g} s pass")
    return Race(
        name=meeting.name,
        setup=setup,
        actors=actors,
        settle=lambda _: lab.rest(),
        invariant=judge,
        connect=lab.connect,
        keys=lambda _: lab.keys,
    )
