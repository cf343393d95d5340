"""The failing client: any boto3 client, watched and made to fail by hooks on botocore's events.

A `Process` is one life of one program: it records each call it makes to AWS, hands each to its plan, and when a fault
says that the process dies, it stays dead: no later call of it, from any thread, is sent.

    process = Process(plan=at(3, LoseAnswer(how="timeout")))
    with process.attached(dynamodb, sqs):
        handler(event)
    print(*process.calls, sep="\\n")
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from tests.faults.answers import EmptyPage
from tests.faults.calls import Call, KeyNames, purpose_of_caller, touches_of
from tests.faults.faults import Crash, Fault
from tests.faults.hooks import Tap, events_of

T = TypeVar("T")
Plan = Callable[[Call], Fault | None]


def nothing(_call: Call) -> None:
    """The plan under which nothing goes wrong."""


def at(index: int, fault: Fault) -> Plan:
    """Strikes the call of this number, counted from 1 over all services."""
    return lambda call: fault if call.index == index else None


def when(fault: Fault, *, service: str = "", operation: str = "", nth: int | None = 1, matches: Any = None) -> Plan:
    """Strikes the nth call (None: each) that is of this service and operation and satisfies `matches(call)`."""
    numbers = itertools.count(1)

    def plan(call: Call) -> Fault | None:
        wanted = service in ("", call.service) and operation in ("", call.operation) and fault.fits(call)
        if not wanted or (matches is not None and not matches(call)):
            return None
        return fault if nth is None or next(numbers) == nth else None

    return plan


def either(*plans: Plan) -> Plan:
    """The first of these plans that has a fault for the call."""
    return lambda call: next((fault for plan in plans if (fault := plan(call)) is not None), None)


class Process:
    """One life of a program, seen through its clients.

    `plan` is asked once a call. `gate` is asked each time a call is sent and may hold the thread until it may go on.
    `keys` (see `key_names`) tells whole items apart that are written by PutItem.
    """

    def __init__(self, *, plan: Plan = nothing, gate: Plan = nothing, keys: KeyNames | None = None) -> None:
        self.calls: list[Call] = []
        self.dead = False
        self._plan = plan
        self._gate = gate
        self._keys = keys or {}
        self._lock = threading.Lock()
        self._fault_of: dict[int, Fault] = {}
        self._empty_pages: list[EmptyPage] = []

    @contextmanager
    def attached(self, *clients: Any) -> Iterator["Process"]:
        """Watches these clients (or resources; or sessions, for all clients they make from now on) inside the block."""
        with ExitStack() as stack:
            for client in clients:
                stack.enter_context(Tap(self, emitter=events_of(client)).tapped())
            yield self

    def must_live(self) -> None:
        """A dead process does nothing more."""
        if self.dead:
            raise Crash("the process is dead")

    def outside(self, service: str, operation: str, params: dict[str, Any], effect: Callable[[Fault | None], T]) -> T:
        """A call to somebody who is not AWS: noted, held up and struck as the others are.

        `effect` makes it, and is told which fault befalls it, if it is not the process that dies.
        """
        call = self.begin(params, service=service, operation=operation)
        fault = self.resend(call)
        try:
            value = effect(fault)
        except Exception as error:
            self.end(call, outcome=type(error).__name__)
            raise
        self.end(call, outcome="ok")
        return value

    def begin(self, params: dict[str, Any], *, service: str, operation: str, protocol: str = "") -> Call:
        """Takes note of a call and of what will befall it."""
        self.must_live()
        call = self._note(params, service=service, operation=operation, protocol=protocol)
        fault = self._gate(call) or self._plan(call)
        self.must_live()
        for page in self._empty_pages:
            page.follow(params)
        if fault is not None and fault.fits(call):
            self._befall(call, fault=fault)
            with self.dying():
                fault.on_build(call, params)
        return call

    def resend(self, call: Call) -> Fault | None:
        """Lets a call be sent, again if need be, and tells what befalls this sending."""
        self.must_live()
        call.attempts += 1
        if call.attempts > 1 and (late := self._gate(call)) is not None:
            self._befall(call, fault=late)
            return late
        fault = self._fault_of.get(call.index)
        return fault if fault is not None and fault.strikes(call) else None

    def answer(self, call: Call, answer: dict[str, Any]) -> None:
        """Lets the fault of a call change its good answer."""
        fault = self._fault_of.get(call.index)
        if fault is not None:
            fault.on_answer(call, answer)

    def end(self, call: Call, *, outcome: str) -> None:
        """Takes note of how a call ended; a dead process never learns of it."""
        call.outcome = outcome
        self.must_live()
        fault = self._fault_of.get(call.index)
        if fault is not None:
            with self.dying():
                fault.on_end(call)

    @contextmanager
    def dying(self) -> Iterator[None]:
        """A crash inside the block is the end of the whole process."""
        try:
            yield
        except Crash:
            self.dead = True
            raise

    def _note(self, params: dict[str, Any], *, service: str, operation: str, protocol: str) -> Call:
        with self._lock:
            call = Call(
                index=len(self.calls) + 1,
                service=service,
                protocol=protocol,
                operation=operation,
                params=dict(params),
                touches=touches_of(service=service, operation=operation, params=params, keys=self._keys),
                purpose=purpose_of_caller(),
            )
            self.calls.append(call)
        return call

    def _befall(self, call: Call, *, fault: Fault) -> None:
        call.fault = str(fault)
        self._fault_of[call.index] = fault
        if isinstance(fault, EmptyPage) and fault not in self._empty_pages:
            self._empty_pages.append(fault)
