"""The product in the lab: its parts over clients that can be struck, and around them what AWS does by itself.

    lab = Lab.furnished()
    case = lab.begin()
    case.note(lab.seats[0].submit(case))     # a caller; its answer is evidence
    lab.rest()                               # messages are delivered, and again, until nothing moves
    check(case)                              # invariants.py

Tables and queues are kept from case to case, emptied; each case has texts, keys and so tasks of its own.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from images.generations import DUTY
from isolane.alarms import DUE
from isolane.aws.queue import Queue
from isolane.ending import LATE
from isolane.observability import logger
from isolane.task import Status, from_row, text_name
from tests.faults.calls import KeyNames, key_names
from tests.faults.case import Case, Step
from tests.faults.history import forget_rows, record_changes, take_changes
from tests.faults.image_moves import is_picture
from tests.faults.right_answers import long_text, place_of
from tests.faults.seat import Seat
from tests.faults.stage import Turn
from tests.faults.visibility import forget_messages, is_seen_in, pass_queue_time, seconds_until_seen
from tests.world import Clock, receive

_TABLES = ("TasksTable", "StateTable", "ValuesTable")


_MOST_SEATS = 5


_MOST_DELIVERIES = 20


@dataclass(kw_only=True)
class Lab:
    """The tables and queues, the seats of processes, the clock, and AWS itself."""

    clock: Clock = field(default_factory=Clock)
    suffix: str = "lab"
    guarded: bool = False
    """Whether the model has a breaker and permits; without, each flow is four calls shorter."""
    falls_back: bool = False
    """Whether the model is the second of its chain, behind one that is guarded and always busy."""
    case: Case = field(init=False)
    _passed_s: float = 0.0
    """The last step of time."""

    @classmethod
    def furnished(cls, *, guarded: bool = False, falls_back: bool = False) -> "Lab":
        """With its tables and queues made; only inside `mock_aws`."""
        kind = "fallback" if falls_back else "guarded" if guarded else "lab"
        lab = cls(suffix=kind, guarded=guarded, falls_back=falls_back)
        logger().setLevel("CRITICAL")  # thousands of lives, each of which goes wrong on purpose
        lab.aws.app.world.make_tables()
        for table in lab.tables:
            record_changes(lab.aws.clients["dynamodb"], table=table)
        return lab

    @cached_property
    def aws(self) -> Seat:
        """A process that nothing befalls: who gets the messages that are delivered again."""
        return Seat(lab=self)

    @cached_property
    def seats(self) -> list[Seat]:
        seats = [Seat(lab=self) for _ in range(_MOST_SEATS)]
        for seat in seats:
            _ = seat.app  # built before anybody watches
        return seats

    @cached_property
    def tables(self) -> dict[str, str]:
        """The tables by their physical names."""
        return {f"{name}-{self.suffix}": name for name in _TABLES}

    @cached_property
    def keys(self) -> KeyNames:
        return key_names(self.aws.clients["dynamodb"])

    @cached_property
    def _numbers(self) -> "itertools.count[int]":
        return itertools.count(1)

    @cached_property
    def _connections(self) -> "itertools.cycle[Seat]":
        return itertools.cycle(self.seats)

    def connect(self) -> Mapping[str, Any]:
        """The clients of the next seat, for an actor."""
        return next(self._connections).clients

    def seat(self, turn: Turn) -> Seat:
        """Where an actor sits, its model asked in steps of that actor."""
        found = next(seat for seat in self.seats if seat.clients["dynamodb"] is turn.clients["dynamodb"])
        found.model.turn = turn
        found.provider.process = turn.process
        return found

    def begin(self, *, script: Sequence[Step] = (None,), opening: str = "") -> Case:
        """A new case, its text opened by some words; what is left of the last one is forgotten."""
        number = next(self._numbers)
        forget_messages()
        forget_rows(self.tables)
        self.clock.advance(1)
        self._passed_s = 0.0
        for seat in (self.aws, *self.seats):
            seat.model.turn = None
            seat.provider.process = None
        short = f"{opening}Text {number}: rivers shape the land.", f"Text {number}, another one."
        texts = *short, long_text(number)
        self.case = Case(texts=texts, key=f"key-{number}", script=script)
        return self.case

    def observe(self) -> None:
        """Takes down what was written up to now."""
        at_ms = int(self.clock() * 1000)
        asked_ms = at_ms - int(self._passed_s * 1000)
        self.case.changes.extend(take_changes(self.tables, at_ms=at_ms, asked_ms=asked_ms))

    def pass_time(self, seconds: float) -> None:
        """Lets the time of everything pass: of the code, of the rows, of the queues."""
        self.observe()
        self.clock.advance(seconds)
        self._passed_s = seconds
        pass_queue_time(seconds)

    def receive(self) -> list[dict[str, Any]]:
        """What Lambda's poller gets from the queue now."""
        return _received(self.aws.app.queue, most=3)

    def receive_letters(self) -> list[dict[str, Any]]:
        return _received(self.aws.app.dead, most=3)

    def receive_documents(self) -> list[dict[str, Any]]:
        return _received(self.aws.app.embed_queue)

    def receive_dead_documents(self) -> list[dict[str, Any]]:
        return _received(self.aws.app.embed_dead)

    def receive_alarms(self) -> list[dict[str, Any]]:
        return _received(self.aws.app.alarms, most=3)

    def rest(self) -> None:
        """Delivers what there is, again and again as it becomes visible, until nothing is under way any more."""
        for number in range(_MOST_DELIVERIES):
            wait_s = seconds_until_seen()
            due_s = self._due_s()
            if wait_s is None and due_s is None:
                self.observe()
                self.case.kept = frozenset(self._kept())
                self.case.pictures = dict(self._pictures())
                return
            if wait_s is None:
                self._sweep(due_s or 0.0, number=number)
                continue
            if wait_s > 0:
                # Later and later, as a busy poller may be: what is to wait a minute need not be seen sixty times.
                self.pass_time(wait_s + 2**number / 10)
            self.aws.deliver(self.receive())
            self.aws.bury(self.receive_letters())
            self.aws.ring(self.receive_alarms())
            self.aws.work_on_documents(self.receive_documents())
            self.aws.bury_documents(self.receive_dead_documents())
        raise AssertionError(f"not at rest after {_MOST_DELIVERIES} deliveries")

    def _sweep(self, wait_s: float, *, number: int) -> None:
        """Lets the sweepers run when something is due: later and later where it is a picture, which may take hours."""
        if not self._owed():
            self.pass_time(wait_s)
            self.aws.sweep()
            return
        self.pass_time(wait_s + 2**number / 10)
        self.aws.sweep_pictures()

    def _due_s(self) -> float | None:
        """How long until something is due of which only a sweeper knows; None where there is nothing."""
        self.observe()
        alarms = [row["due_at"] for row in self.case.rows("StateTable").values() if row.get("due") == DUE]
        times_s = [*alarms, *self._owed()]
        return max(0.0, min(times_s) - self.clock()) if times_s else None

    def _owed(self) -> list[float]:
        """When each picture is due that somebody waits for, or that is still being made."""
        return [row["due_at"] for row in self.case.rows("TasksTable").values() if row.get("due") in (DUTY, LATE)]

    def _pictures(self) -> Iterator[tuple[str, bytes | None]]:
        for task in map(from_row, self.case.rows("TasksTable").values()):
            if is_picture(task) and task.status is Status.COMPLETED:
                yield task.nonce, self.aws.stored(place_of(task))

    def _kept(self) -> Iterator[str]:
        payloads = self.aws.app.bindings.payloads
        waiting = [row for row in self.case.rows("TasksTable").values() if row["status"] == Status.IN_REVIEW]
        names = (text_name(row["task_id"], row["nonce"]) for row in waiting)
        return (name for name in names if payloads.kept(name) is not None)


def _received(queue: Queue, *, most: int = 10) -> list[dict[str, Any]]:
    """What the queue has; most have nothing, and to be told so by moto was a third of the lab's time."""
    return receive(queue, most=most) if is_seen_in(queue.url) else []
