"""What can go wrong with a call to AWS, one class a kind.

    Fault
    ├── CrashBefore, CrashAfter       the process dies there
    ├── Refuse                        an error answer, nothing applied
    ├── Unreachable                   no connection, nothing applied
    ├── LoseAnswer                    applied, and the caller never hears of it
    ├── Conflict, CancelTransaction   what only a busy table says
    ├── Delay, Meanwhile              applied as asked, but something happens first
    └── EmptyPage, PartialBatch       see answers.py

A fault meets a call at up to four points: when its parameters are built, when it is sent (each time, with the SDK's
retries), when its answer is in, and when it is over. Faults keep nothing of a call but in `call.notes`.
"""

# ruff: noqa: ARG002 - a kind of fault uses what it needs of what it is told

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from tests.faults import wire
from tests.faults.calls import Call

Deliver = Callable[[], AWSResponse]


class Crash(BaseException):
    """The process died here."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that befalls a call.

    `times`: how many sendings of the call it strikes, None for all of them. `retry`: what the SDK does about it; None
    is as the client is configured, False is never, True is once more, at once, whatever the client says.
    """

    times: int | None = 1
    retry: bool | None = None

    def __post_init__(self) -> None:
        if self.retry and self.times is None:
            raise ValueError("a fault that strikes every sending cannot be retried for ever")

    def fits(self, call: Call) -> bool:
        """Whether this can befall such a call at all."""
        return True

    def on_build(self, call: Call, params: dict[str, Any]) -> None:
        """Before the parameters become a request; may replace top-level ones."""

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        """In place of the network: an answer, an exception, or None to let it pass; `deliver` really sends it."""
        return None

    def on_answer(self, call: Call, answer: dict[str, Any]) -> None:
        """After a success was parsed, in wire form; may change it."""

    def on_end(self, call: Call) -> None:
        """After the call is over, however it ended, before its caller learns of it."""

    def strikes(self, call: Call) -> bool:
        """Whether the present sending is among those that it befalls."""
        return self.times is None or call.attempts <= self.times

    def __str__(self) -> str:
        return type(self).__name__ + {None: "", True: " retried", False: " not retried"}[self.retry]


@dataclass(frozen=True, kw_only=True)
class CrashBefore(Fault):
    """The process dies as it is about to make the call: nothing is applied."""

    def on_build(self, call: Call, params: dict[str, Any]) -> None:
        raise Crash(f"before {call}")

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        raise Crash(f"before {call}")

    def __str__(self) -> str:
        return "dies before"


@dataclass(frozen=True, kw_only=True)
class CrashAfter(Fault):
    """The call is applied, and the process dies before it learns so."""

    def on_end(self, call: Call) -> None:
        raise Crash(f"after {call}")

    def __str__(self) -> str:
        return "dies after"


@dataclass(frozen=True, kw_only=True)
class Refuse(Fault):
    """The service answers with an error and applies nothing: a throttle, a 500, a 503, or any WireError."""

    error: Literal["throttled", "server error", "unavailable"] | wire.WireError = "throttled"

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        return respond(
            request, answer=wire.encode(named(self.error, call), service=call.service, protocol=call.protocol)
        )

    def __str__(self) -> str:
        return super().__str__().replace("Refuse", self.error if isinstance(self.error, str) else self.error.code)


@dataclass(frozen=True, kw_only=True)
class Unreachable(Fault):
    """No connection is made, or it breaks before the service has seen the request: nothing is applied."""

    how: Literal["refused", "timeout", "reset"] = "refused"

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        if self.how == "refused":
            raise EndpointConnectionError(endpoint_url=request.url, error=ConnectionRefusedError("by the fault lab"))
        if self.how == "timeout":
            raise ConnectTimeoutError(endpoint_url=request.url, error=TimeoutError("by the fault lab"))
        raise ConnectionClosedError(endpoint_url=request.url, request=request)

    def __str__(self) -> str:
        return super().__str__().replace("Unreachable", f"connection {self.how}")


@dataclass(frozen=True, kw_only=True)
class LoseAnswer(Fault):
    """The service applies the request and the answer is lost on its way, or is a 500; a retry applies it twice."""

    how: Literal["reset", "timeout", "server error"] = "reset"

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        deliver()
        if self.how == "timeout":
            raise ReadTimeoutError(endpoint_url=request.url, error=TimeoutError("by the fault lab"))
        if self.how == "reset":
            raise ConnectionClosedError(endpoint_url=request.url, request=request)
        error = wire.server_error(call.service)
        return respond(request, answer=wire.encode(error, service=call.service, protocol=call.protocol))

    def __str__(self) -> str:
        return super().__str__().replace("LoseAnswer", f"answer lost ({self.how})")


@dataclass(frozen=True, kw_only=True)
class CancelTransaction(Fault):
    """A transaction canceled for these reasons, one an item: a code, None, or a full reason with its Item."""

    reasons: Sequence[wire.Reason]

    def fits(self, call: Call) -> bool:
        """Whether it is a transaction of as many items."""
        return len(call.params.get("TransactItems", ())) == len(self.reasons)

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        error = wire.canceled(self.reasons)
        return respond(request, answer=wire.encode(error, service=call.service, protocol=call.protocol))

    def __str__(self) -> str:
        return f"canceled {list(self.reasons)}"


@dataclass(frozen=True, kw_only=True)
class Conflict(Fault):
    """Another transaction holds the item: of a transaction `item` (from 0) conflicts, a single write is refused."""

    item: int = 0

    def fits(self, call: Call) -> bool:
        """Whether it writes to a table, one item or a transaction that has this one."""
        single = call.operation in ("PutItem", "UpdateItem", "DeleteItem") and self.item == 0
        return single or len(call.params.get("TransactItems", ())) > self.item

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        items = len(call.params.get("TransactItems", ()))
        reasons = ["TransactionConflict" if number == self.item else None for number in range(items)]
        error = wire.canceled(reasons) if items else wire.conflict()
        return respond(request, answer=wire.encode(error, service=call.service, protocol=call.protocol))

    def __str__(self) -> str:
        return f"conflict on item {self.item}"


@dataclass(frozen=True, kw_only=True)
class Delay(Fault):
    """The answer takes `seconds`; `pass_time` may move a clock of the test's own in place of waiting."""

    seconds: float
    pass_time: Callable[[float], object] = time.sleep

    def on_end(self, call: Call) -> None:
        self.pass_time(self.seconds)

    def __str__(self) -> str:
        return f"takes {self.seconds} s"


@dataclass(frozen=True, kw_only=True)
class Meanwhile(Fault):
    """Something happens just before the call, such as a row that grows old or somebody else's write."""

    happens: Callable[[], object]

    def on_build(self, call: Call, params: dict[str, Any]) -> None:
        self.happens()

    def __str__(self) -> str:
        return f"meanwhile {getattr(self.happens, '__name__', 'something')}"


def named(error: str | wire.WireError, call: Call) -> wire.WireError:
    """The error that a service means by a name that holds for all of them."""
    if isinstance(error, wire.WireError):
        return error
    if error == "unavailable":
        return wire.unavailable()
    return wire.throttled(call.service) if error == "throttled" else wire.server_error(call.service)


class _Raw(BytesIO):
    def stream(self, **_: Any) -> Any:
        yield self.read()


def respond(request: AWSPreparedRequest, *, answer: wire.WireAnswer) -> AWSResponse:
    """`answer` as botocore takes it from its HTTP layer."""
    return AWSResponse(request.url, answer.status, HTTPHeaders.from_dict(answer.headers), _Raw(answer.body))
