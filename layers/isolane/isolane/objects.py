"""Named objects: one name, one authority; its methods run one after the other, whoever calls from wherever.

    objects.get(Room, "room:1001").join("tom")
    objects.get(Room, "room:1001", command="request-7").join("tom")     # the same command again: its first answer

A method runs on a copy of the state at version v, and commits at v + 1 or not at all; its answer leaves after that.
Where somebody else has committed in between, it runs again on what there is now, for up to 3 s, then Contended. So a
method must be about the state alone: it may run more than once, and what it does elsewhere is not taken back. Nothing
is kept in the process: what the store holds is the object.

A read is one call, a change is two. A change whose answer was lost is recognised; where that cannot be told, because
others have committed since, Unavailable is raised and only a command says, when it is sent again, what became of it.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from uuid import uuid4

from isolane.alarms import Alarm, Alarms, fields_of
from isolane.aws.table import Item, Table, get_many
from isolane.aws.transaction import Put, transact
from isolane.contention import patience, persist
from isolane.deadline import Deadline
from isolane.errors import (
    ConditionFailed,
    Contended,
    IdempotencyMismatch,
    InvalidRequest,
    TransactionRefused,
    Unavailable,
)
from isolane.json_edge import digest
from isolane.object_state import ALARM, alarm_of, answer_text, instance_of, text_of

T = TypeVar("T")

# The clauses of the conditions, each with the race that it closes.

THE_SAME_VERSION = "#version = :seen"
"""Two who change the object at once: the second has to look again, on what the first has made of it."""
NEW = "attribute_not_exists(#pk)"
"""The same, for the first change there is: state is created on first use and never overwritten by it."""
NOT_YET_CARRIED_OUT = "(attribute_not_exists(#key) OR #expires_at <= :now_s)"
"""A command that is sent twice, and TTL, which deletes late."""

COMMAND_S = 86_400
"""How long a command's answer is kept."""
_LONGEST_NAME = 255


@dataclass(frozen=True, kw_only=True)
class Called:
    """What a call came to."""

    value: Any
    replayed: bool
    """Whether the command had been carried out before, and this is its first answer."""


@dataclass(frozen=True)
class _Call:
    """A method of an object, to be called with these arguments; `nonce` is how it finds its own traces."""

    kind: type
    name: str
    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    command: str | None
    nonce: str = field(default_factory=lambda: uuid4().hex)

    @property
    def key(self) -> dict[str, str]:
        return {"pk": f"object#{self.kind.__name__}#{self.name}", "sk": "object"}

    @property
    def command_key(self) -> dict[str, str]:
        return {"key": f"command#{digest([self.kind.__name__, self.name, self.command])}"}

    @property
    def fingerprint(self) -> str:
        return digest([self.method, list(self.args), dict(self.kwargs)])


@dataclass(frozen=True, kw_only=True)
class _Ran:
    """What a method has made of a state: its answer, and the new state where that is another one."""

    value: Any
    seen: int
    """The version that it ran on; 0 where there was none."""
    text: str | None
    """None where nothing has changed."""
    alarm_at_ms: int | None
    """When the alarm of the new state rings."""
    alarm_is_new: bool
    """Whether that is another time than before."""


@dataclass(frozen=True)
class Objects:
    """All objects of a deployment: their state in one table (State), the answers of commands in another (Values)."""

    state: Table
    values: Table
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], None] = time.sleep
    alarms: Alarms | None = None
    """Where alarms are made to ring; without, they are kept, and are the sweeper's."""

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def get(self, kind: type[T], name: str, *, command: str | None = None, deadline: Deadline | None = None) -> T:
        """The object of that name: its methods can be called, and its attributes read, as if it were here.

        Raises InvalidRequest for a name without characters or with too many; the calls raise Contended and Unavailable,
        IdempotencyMismatch for a command that was another call before, and TooLarge for state over 350 KB.
        """
        return cast("T", _Stub(functools.partial(self.call, kind, name, command=command, deadline=deadline), kind))

    def call(
        self,
        kind: type,
        name: str,
        method: str,
        *args: Any,
        command: str | None = None,
        deadline: Deadline | None = None,
        **kwargs: Any,
    ) -> Called:
        """Calls a method by its name, and says whether the answer is that of an earlier call."""
        if not 0 < len(name) <= _LONGEST_NAME:
            raise InvalidRequest(f"An object's name has 1 to {_LONGEST_NAME} characters.")
        call = _Call(kind, name, method, args, kwargs, command)
        once = self._once if command is None else self._once_for_the_command
        return persist(lambda: once(call), until=patience(deadline), sleep=self.sleep)

    def ring(self, kind: type, alarm: Alarm, *, deadline: Deadline | None = None) -> bool:
        """Calls the object's method `alarm`; False, and nothing, where the alarm was deleted, moved, or has rung."""
        call = _Call(kind, alarm.name, "alarm", (), {}, None)
        return persist(lambda: self._ring(call, alarm), until=patience(deadline), sleep=self.sleep)

    def _ring(self, call: _Call, alarm: Alarm) -> bool:
        row = self.state.get(call.key)
        if row is None or row.get(ALARM) != alarm.at_ms:
            return False
        ran = run(call, row, rings=True)
        self._commit(call, ran)
        self._wind(call, ran)
        return True

    def _once(self, call: _Call) -> Called:
        ran = run(call, self.state.get(call.key))
        if ran.text is not None:
            self._commit(call, ran)
            self._wind(call, ran)
        return Called(value=ran.value, replayed=False)

    def _wind(self, call: _Call, ran: _Ran) -> None:
        """Has a new alarm ring in time; where that fails, or is not reached, the sweeper does it."""
        if self.alarms is not None and ran.alarm_is_new and ran.alarm_at_ms is not None:
            alarm = Alarm(kind=call.kind.__name__, name=call.name, at_ms=ran.alarm_at_ms)
            self.alarms.wind(alarm, now_ms=self.now_ms())

    def _once_for_the_command(self, call: _Call) -> Called:
        row, earlier = get_many([(self.state, call.key), (self.values, call.command_key)])
        if earlier is not None and earlier["expires_at"] > self.clock():
            return answered(call, earlier)
        ran = run(call, row)
        try:
            transact([self._remembering(call, ran), *self._changing(call, ran)])
        except TransactionRefused as refusal:
            command = refusal.refusals[0]
            if command is not None and command.found is not None:
                return answered(call, command.found)
            raise Contended from None
        self._wind(call, ran)
        return Called(value=ran.value, replayed=False)

    def _commit(self, call: _Call, ran: _Ran) -> None:
        (put,) = self._changing(call, ran)
        try:
            self.state.put(put.item, when=put.when, values=put.values)
        except (ConditionFailed, Contended) as refusal:
            found = refusal.found if isinstance(refusal, ConditionFailed) else None
            if found is not None and found["commit"] == call.nonce:
                return
            if refusal.sent_again:  # it may have been applied the first time, and changed by others since
                raise Unavailable("Nobody knows whether the change was made.") from None
            raise Contended from None

    def _changing(self, call: _Call, ran: _Ran) -> list[Put]:
        """The write of the new state; none where it is not new."""
        if ran.text is None:
            return []
        row: Item = {**call.key, "version": ran.seen + 1, "commit": call.nonce, "state": ran.text}
        row |= fields_of(ran.alarm_at_ms)
        return [Put(self.state, row, when=THE_SAME_VERSION if ran.seen else NEW, values={"seen": ran.seen})]

    def _remembering(self, call: _Call, ran: _Ran) -> Put:
        """The write of the command's answer, with which the change stands or falls."""
        now_s = int(self.clock())
        row: Item = {
            **call.command_key,
            "fingerprint": call.fingerprint,
            "nonce": call.nonce,
            "answer": answer_text(ran.value, kind=call.kind),
            "expires_at": now_s + COMMAND_S,
        }
        return Put(self.values, row, when=NOT_YET_CARRIED_OUT, values={"now_s": now_s})


class _Stub:
    """Stands for an object that is somewhere else."""

    def __init__(self, call: Callable[..., Called], kind: type) -> None:
        self._call = call
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        if callable(getattr(self._kind, name, None)):
            return lambda *args, **kwargs: self._call(name, *args, **kwargs).value
        return self._call("__getattribute__", name).value


def run(call: _Call, row: Mapping[str, Any] | None, *, rings: bool = False) -> _Ran:
    """Runs the method on a copy of what was found, and says what it has made of it.

    Where it `rings`, the alarm is off before the method runs, so that the method may set it anew.
    """
    instance: Any = instance_of(call.kind, row["state"] if row is not None else None)
    before, alarm_before = text_of(instance), alarm_of(instance)
    if rings:
        setattr(instance, ALARM, None)
    value = getattr(instance, call.method)(*call.args, **call.kwargs)
    after, alarm_after = text_of(instance), alarm_of(instance)
    return _Ran(
        value=value,
        seen=row["version"] if row is not None else 0,
        text=after if after != before else None,
        alarm_at_ms=alarm_after,
        alarm_is_new=alarm_after != alarm_before,
    )


def answered(call: _Call, command: Mapping[str, Any]) -> Called:
    """The first answer to a command. Raises IdempotencyMismatch where it was another call."""
    if command["fingerprint"] != call.fingerprint:
        raise IdempotencyMismatch
    return Called(value=json.loads(command["answer"]), replayed=command["nonce"] != call.nonce)
