"""Actors in threads, one step at a time: each is parked before its next call until the stage lets it go on.

Only one thread of all actors ever runs, so what happens is decided by the order of the steps and by nothing else.
"""

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from tests.faults.calls import ALL, Call, KeyNames, Touches
from tests.faults.failing_client import Plan, Process, nothing
from tests.faults.faults import Crash, CrashAfter, CrashBefore, Fault

W = TypeVar("W")
T = TypeVar("T")
Act = Callable[[W, "Turn"], object]

_DEATHS: Mapping[str, Fault] = {"before": CrashBefore(), "after": CrashAfter()}


_FAREWELL_S = 5.0


class OutOfStep(Exception):
    """An actor did not keep to one call at a time: it hangs, or calls from several threads at once."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Whose turn it is, and whether the actor dies "before" or "after" its step is applied."""

    actor: str
    dies: str = ""

    def __str__(self) -> str:
        return f"{self.actor}:{self.dies}" if self.dies else self.actor


@dataclass(frozen=True, kw_only=True)
class Step:
    """What an actor is about to do, or has done."""

    actor: str
    label: str
    touches: Touches
    dies: str = ""

    def __str__(self) -> str:
        return f"actor {self.actor}: {self.label}" + (f", dies {self.dies}" if self.dies else "")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an actor ended: what it returned, or what it raised; died means that it was killed at a step."""

    value: Any = None
    error: BaseException | None = None

    @property
    def died(self) -> bool:
        """Whether its process was killed."""
        return isinstance(self.error, Crash)


class Turn:
    """What an actor is handed: clients that wait for their turn, and `do` for steps that are no call to AWS."""

    def __init__(self, *, name: str, clients: Mapping[str, Any], process: Process, park: Callable[..., Fault | None]):
        self.name = name
        self.clients = clients
        self.process = process
        self._park = park

    def do(self, label: str, effect: Callable[[], T], *, touches: Touches = ALL) -> T:
        """Makes an effect that others can see, such as a provider's call or the passing of time, a step of its own."""
        self.process.must_live()
        fault = self._park(Step(actor=self.name, label=label, touches=touches))
        with self.process.dying():
            if isinstance(fault, CrashBefore):
                raise Crash(f"before {label}")
            value = effect()
            if isinstance(fault, CrashAfter):
                raise Crash(f"after {label}")
        return value


class _Player(Generic[W]):
    """One actor: its thread, its process, and the door it waits at."""

    def __init__(self, *, name: str, clients: Mapping[str, Any], plan: Plan, keys: KeyNames, doorbell: Any) -> None:
        self.name = name
        self.process = Process(plan=plan, gate=self._wait_for_call, keys=keys)
        self.turn = Turn(name=name, clients=clients, process=self.process, park=self._wait)
        self.thread: threading.Thread | None = None
        self._doorbell = doorbell
        self._door = threading.Semaphore(0)
        self._crowd = threading.Lock()
        self._waiting = False
        self._fault: Fault | None = None

    def start(self, act: Act[W], world: W) -> None:
        self.thread = threading.Thread(target=self._play, args=(act, world), name=f"actor {self.name}", daemon=True)
        self.thread.start()

    def open_door(self, fault: Fault | None) -> None:
        self._fault = fault
        self._door.release()

    def end(self) -> None:
        """Lets the thread run out without another step."""
        self.process.dead = True
        self.open_door(_DEATHS["before"])
        if self.thread is not None:
            self.thread.join(_FAREWELL_S)

    def _play(self, act: Act[W], world: W) -> None:
        try:
            with self.process.attached(*self.turn.clients.values()):
                value = act(world, self.turn)
            # What a dead process returns, because somebody caught its end, nobody hears.
            self.process.must_live()
            outcome = Outcome(value=value)
        except BaseException as error:  # noqa: BLE001 - a thread has nobody above it; the stage judges what was raised
            outcome = Outcome(error=error)
        self._doorbell.put((self.name, outcome))

    def _wait_for_call(self, call: Call) -> Fault | None:
        again = f" (sent again, attempt {call.attempts})" if call.attempts > 1 else ""
        return self._wait(Step(actor=self.name, label=f"{call}{again}", touches=call.touches))

    def _wait(self, step: Step) -> Fault | None:
        with self._crowd:
            if self._waiting:
                refusal = OutOfStep(f"actor {self.name} makes two calls at once: {step.label}")
                self._doorbell.put((self.name, refusal))
                raise refusal
            self._waiting = True
        self._doorbell.put((self.name, step))
        self._door.acquire()
        self._waiting = False
        return self._fault


class Stage(Generic[W]):
    """One run of several actors in one world; `pending` holds what each that has not ended is about to do."""

    def __init__(
        self,
        *,
        actors: Mapping[str, Act[W]],
        clients: Mapping[str, Mapping[str, Any]],
        plans: Mapping[str, Plan],
        keys: KeyNames,
        patience_s: float,
    ) -> None:
        self.pending: dict[str, Step] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.trace: list[Step] = []
        self._doorbell: SimpleQueue[tuple[str, Step | Outcome | OutOfStep]] = SimpleQueue()
        self._patience_s = patience_s
        self._players = {
            name: _Player[W](
                name=name, clients=clients[name], plan=plans.get(name, nothing), keys=keys, doorbell=self._doorbell
            )
            for name in actors
        }
        self._actors = actors

    def open(self, world: W) -> None:
        """Starts the actors, each up to its first step."""
        for name, act in self._actors.items():
            self._players[name].start(act, world)
            self._await(name)

    def take(self, choice: Choice) -> None:
        """Lets one actor make its next step, and runs it on to the one after, or to its end."""
        step = self.pending.pop(choice.actor)
        self.trace.append(Step(actor=step.actor, label=step.label, touches=step.touches, dies=choice.dies))
        self._players[choice.actor].open_door(_DEATHS.get(choice.dies))
        self._await(choice.actor)

    def clear(self) -> None:
        """Ends every actor that has not ended: no step of theirs is applied any more."""
        for name in list(self.pending):
            self._players[name].end()

    def _await(self, name: str) -> None:
        try:
            who, news = self._doorbell.get(timeout=self._patience_s)
        except Empty:
            raise OutOfStep(f"actor {name} neither calls nor ends:\n{self._whereabouts(name)}") from None
        if isinstance(news, OutOfStep):
            raise news
        if who != name:
            raise OutOfStep(f"actor {who} calls while it is {name}'s turn: an actor may make one call at a time")
        if isinstance(news, Step):
            self.pending[name] = news
        else:
            self.outcomes[name] = news

    def _whereabouts(self, name: str) -> str:
        thread = self._players[name].thread
        frame = sys._current_frames().get(thread.ident or 0) if thread is not None else None
        return "".join(traceback.format_stack(frame)) if frame is not None else "its thread is gone"
