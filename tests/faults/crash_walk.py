"""The crash walk: a flow is run once to count its calls, then once for each call and each fault that can befall it.

After each, what AWS, the client and the sweeper would do drives the world to rest, and the invariants must hold.

    class Score:
        name = "score one message"
        def setup(self): return fresh_world()
        def run(self, world, process):
            with process.attached(world.dynamodb, world.sqs):
                worker.handler(world.event, ...)
        def recover(self, world): world.redeliver_until_empty()
        def invariants(self, world): every_task_terminal_once(world)

    crash_walk(Score()).check()
    crash_walk(Score(), faults=LOST_ANSWERS + CONFLICTS).check()
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tests.faults.answers import EmptyPage, PartialBatch
from tests.faults.calls import Call, KeyNames, no_keys
from tests.faults.failing_client import Process, at
from tests.faults.faults import Conflict, Crash, CrashAfter, CrashBefore, Fault, LoseAnswer, Refuse, Unreachable
from tests.faults.results import Row, headline

W = TypeVar("W")

DEATHS: Sequence[Fault] = (CrashBefore(), CrashAfter())
REFUSALS: Sequence[Fault] = (
    Refuse(error="throttled", times=None, retry=False),
    Refuse(error="server error", times=None, retry=False),
    Refuse(error="throttled", retry=True),
    Unreachable(times=None, retry=False),
)
LOST_ANSWERS: Sequence[Fault] = (
    LoseAnswer(how="reset", retry=True),
    LoseAnswer(how="timeout", retry=False),
    LoseAnswer(how="server error", retry=False),
)
CONFLICTS: Sequence[Fault] = (Conflict(item=0), Conflict(item=1))


class Flow(Protocol[W]):
    """A flow of the project: what it needs, one life of the process under test, what happens after, what must hold."""

    name: str

    def setup(self) -> W:
        """A world in which the flow can run, made anew."""

    def run(self, world: W, process: Process) -> object:
        """The flow itself, once, through clients to which `process` is attached; one call at a time."""

    def recover(self, world: W) -> object:
        """Drives the world to rest: redelivery, the client's retry with the same key, the sweeper."""

    def invariants(self, world: W) -> object:
        """Raises if the world is not as promised."""


class CrashWalkFailed(AssertionError):
    """An invariant did not hold after a fault."""


class NotDeterministic(Exception):
    """A flow made other calls when it was run again."""


@dataclass(frozen=True, kw_only=True)
class Wound:
    """A fault after which an invariant did not hold."""

    flow: str
    index: int
    fault: Fault | None
    error: BaseException
    calls: Sequence[Call]

    def __str__(self) -> str:
        struck = "\n".join(f"  {call.index}. {call}: {call.outcome}{_mark(call)}" for call in self.calls)
        return (
            f"{self.flow}: {headline(self.error)}\n{struck}\n  strike(flow, index={self.index}, fault={self.fault!r})"
        )


@dataclass(kw_only=True)
class CrashReport:
    """What a crash walk did: the calls of the undisturbed run, the points struck, what did not hold."""

    flow: str
    calls: Sequence[Call] = ()
    points: int = 0
    seconds: float = 0.0
    wounds: list[Wound] = field(default_factory=list)

    def check(self) -> "CrashReport":
        """Raises the first violation, if there is one."""
        if self.wounds:
            raise CrashWalkFailed(str(self.wounds[0])) from self.wounds[0].error
        return self

    def row(self) -> Row:
        """The report as a row of the table of results."""
        return Row(flow=self.flow, crash_points=self.points, violations=len(self.wounds), seconds=self.seconds)


def crash_walk(
    flow: Flow[W],
    *,
    faults: Sequence[Fault] = DEATHS,
    keys: Callable[[W], KeyNames] = no_keys,
    keep_going: bool = False,
) -> CrashReport:
    """Strikes each call of a flow with each fault that fits it; stops at the first violation unless `keep_going`.

    `keys` names the keys of the world's tables, so that a PutItem is told with its item.
    """
    report = CrashReport(flow=flow.name)
    start = time.perf_counter()
    report.calls, wound = _undisturbed(flow, keys=keys)
    wounds = _wounds(flow, report=report, faults=faults, keys=keys) if wound is None else iter([wound])
    for found in wounds:
        report.wounds.append(found)
        if not keep_going:
            break
    report.seconds = time.perf_counter() - start
    return report


def strike(flow: Flow[W], *, index: int, fault: Fault, keys: Callable[[W], KeyNames] = no_keys) -> Wound | None:
    """Runs a flow once with one call struck, drives it to rest and looks whether all holds."""
    return _struck(flow, index=index, fault=fault, keys=keys)[1]


def _wounds(
    flow: Flow[W], *, report: CrashReport, faults: Sequence[Fault], keys: Callable[[W], KeyNames]
) -> Iterator[Wound]:
    for call in report.calls:
        for fault in faults:
            if not fault.fits(call):
                continue
            report.points += 1
            struck, wound = _struck(flow, index=call.index, fault=fault, keys=keys)
            _compare(call, struck, flow=flow.name)
            if wound is not None:
                yield wound


def _undisturbed(flow: Flow[W], *, keys: Callable[[W], KeyNames]) -> tuple[Sequence[Call], Wound | None]:
    world = flow.setup()
    process = Process(keys=keys(world))
    flow.run(world, process)
    return process.calls, _judge(flow, world, process=process, index=0, fault=None)


def _struck(
    flow: Flow[W], *, index: int, fault: Fault, keys: Callable[[W], KeyNames]
) -> tuple[Sequence[Call], Wound | None]:
    world = flow.setup()
    process = Process(plan=at(index, fault), keys=keys(world))
    try:
        flow.run(world, process)
    except (Crash, Exception):  # noqa: BLE001 - an invocation may fail in any way; what counts is what follows
        process.dead = True
    return process.calls, _judge(flow, world, process=process, index=index, fault=fault)


def _judge(flow: Flow[W], world: W, *, process: Process, index: int, fault: Fault | None) -> Wound | None:
    try:
        flow.recover(world)
        flow.invariants(world)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the fault that led to it
        return Wound(flow=flow.name, index=index, fault=fault, error=error, calls=process.calls)
    return None


def _compare(planned: Call, calls: Sequence[Call], *, flow: str) -> None:
    again = calls[planned.index - 1] if len(calls) >= planned.index else None
    if again is None or (again.service, again.operation) != (planned.service, planned.operation):
        raise NotDeterministic(f"{flow}: call {planned.index} was {planned}, and is now {again}")


def _mark(call: Call) -> str:
    return f"   <- {call.fault}" if call.fault else ""


ANSWERS: Sequence[Fault] = (PartialBatch(keep=1), PartialBatch(keep=0), PartialBatch(keep=1, applied=True))


def empty_pages() -> Sequence[Fault]:
    """An empty page for each call that reads pages; made anew for each walk, because it remembers its pages."""
    return (EmptyPage(),)
