"""One call to AWS as the lab sees it: what it is, what it touches, who made it."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

Mode = Literal["read", "write", "add"]
Params = Mapping[str, Any]
KeyNames = Mapping[str, tuple[str, ...]]

EVERYTHING = "*"

_READ_VERBS = ("Get", "BatchGet", "TransactGet", "Describe", "List", "Head", "Query", "Scan")
_LONGEST_SHOWN = 40
_CHECKS_ONLY = ("ConditionCheck", "Get")
# Frames of these modules say how a call was made, not what for.
_PLUMBING = ("botocore.", "boto3.", "moto.", "threading", "concurrent.futures.", "contextlib", "functools")
_LAB = frozenset(f"tests.faults.{name}" for name in ("calls", "failing_client", "hooks", "stage", "crash_walk"))


@dataclass(frozen=True, kw_only=True)
class Touch:
    """One item (or, with item None, the whole of a table, queue or bucket) and what is done to it.

    `add` puts a new item beside the others, such as a message: two of them do not disturb each other.
    """

    resource: str
    item: str | None = None
    mode: Mode = "write"

    def disturbs(self, other: "Touch") -> bool:
        """Whether the order of the two can be seen."""
        if EVERYTHING in (self.resource, other.resource):
            return True
        return self.resource == other.resource and self._overlaps(other) and not self._agrees_with(other)

    def _overlaps(self, other: "Touch") -> bool:
        return self.item is None or other.item is None or self.item == other.item

    def _agrees_with(self, other: "Touch") -> bool:
        return self.mode == other.mode and self.mode in ("read", "add")

    def __str__(self) -> str:
        return self.resource if self.item is None else f"{self.resource}/{_short(self.item)}"


Touches = frozenset[Touch]
ALL: Touches = frozenset({Touch(resource=EVERYTHING)})


def disturb(these: Touches, those: Touches) -> bool:
    """Whether two calls must be tried in both orders: they share an item and one of them changes it."""
    return any(one.disturbs(other) for one in these for other in those)


@dataclass(kw_only=True)
class Call:
    """One call of a process: its number (from 1), operation and parameters, what it touches, how it ended.

    `attempts` counts how often it was sent; `outcome` is "ok", an error's code, an exception's name, "never answered".
    """

    index: int
    service: str
    protocol: str
    operation: str
    params: Params
    touches: Touches
    purpose: str = ""
    attempts: int = 0
    outcome: str = "never answered"
    fault: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        target = ", ".join(sorted({str(touch) for touch in self.touches}))
        return f"{self.operation} {target}" + (f" ({self.purpose})" if self.purpose else "")


def touches_of(*, service: str, operation: str, params: Params, keys: KeyNames) -> Touches:
    """What a call reads and writes; where that cannot be told, the whole of the table, queue, bucket or service."""
    find = _FINDERS.get(service)
    found = frozenset(find(operation, params, keys)) if find is not None else frozenset()
    return found or frozenset({Touch(resource=service, mode=_mode(operation))})


def purpose_of_caller() -> str:
    """The name of the function that wanted the call, past the plumbing and anything in a package named `aws`.

    Within its module that is the nearest one with a public name, if there is one.
    """
    frames = [frame for frame in _frames() if not _is_plumbing(_module(frame))]
    nearby = list(itertools.takewhile(lambda frame: _module(frame) == _module(frames[0]), frames))
    names = [frame.f_code.co_name for frame in nearby]
    return next((name for name in names if not name.startswith(("_", "<"))), names[0] if names else "")


def key_names(client: Any) -> KeyNames:
    """The names of the key attributes of every table that `client` (DynamoDB) can see."""
    names = client.list_tables()["TableNames"]
    return {name: key_of_table(client, table=name) for name in names}


def no_keys(_world: object) -> KeyNames:
    """No names of keys are known: PutItem then touches the whole of its table."""
    return {}


def key_of_table(client: Any, *, table: str) -> tuple[str, ...]:
    """The names of the key attributes of one table."""
    schema = client.describe_table(TableName=table)["Table"]["KeySchema"]
    return tuple(key["AttributeName"] for key in schema)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _short(item: str) -> str:
    """Receipt handles have no end."""
    return item if len(item) <= _LONGEST_SHOWN else f"{item[: _LONGEST_SHOWN - 1]}…"


def _is_plumbing(module: str) -> bool:
    return module in _LAB or f"{module}.".startswith(_PLUMBING) or ".aws." in f"{module}."


def _mode(operation: str) -> Mode:
    return "read" if operation.startswith(_READ_VERBS) else "write"


def _dynamodb(operation: str, params: Params, keys: KeyNames) -> Iterator[Touch]:
    for entry in params.get("TransactItems", []):
        for verb, body in entry.items():
            yield _row(body["TableName"], body, keys=keys, mode="read" if verb in _CHECKS_ONLY else "write")
    for table, requests in params.get("RequestItems", {}).items():
        for body in _batch_bodies(requests):
            yield _row(table, body, keys=keys, mode=_mode(operation))
    if "TableName" in params:
        yield _row(params["TableName"], params, keys=keys, mode=_mode(operation))


def _batch_bodies(requests: Any) -> Iterable[Params]:
    if isinstance(requests, Mapping):
        return [{"Key": key} for key in requests["Keys"]]
    return [body for request in requests for body in request.values()]


def _row(table: str, body: Params, *, keys: KeyNames, mode: Mode) -> Touch:
    key = body.get("Key") or _key_in(body.get("Item", {}), names=keys.get(table, ()))
    return Touch(resource=table, item=_plain(key) if key else None, mode=mode)


def _key_in(item: Params, *, names: tuple[str, ...]) -> Params | None:
    return {name: item[name] for name in names} if all(name in item for name in names) else None


def _plain(key: Params) -> str:
    return "/".join(str(value) for _, typed in sorted(key.items()) for value in typed.values())


def _sqs(operation: str, params: Params, _keys: KeyNames) -> Iterator[Touch]:
    queue = str(params.get("QueueUrl", "queues")).rsplit("/", 1)[-1]
    entries = params.get("Entries", [params])
    if operation.startswith("SendMessage"):
        yield Touch(resource=queue, item="new message", mode="add")
    elif all("ReceiptHandle" in entry for entry in entries):
        yield from (Touch(resource=queue, item=entry["ReceiptHandle"]) for entry in entries)
    else:
        yield Touch(resource=queue, mode=_mode(operation))


def _s3(operation: str, params: Params, _keys: KeyNames) -> Iterator[Touch]:
    yield Touch(resource=str(params.get("Bucket", "s3")), item=params.get("Key"), mode=_mode(operation))


def _provider(operation: str, params: Params, _keys: KeyNames) -> Iterator[Touch]:
    """One job of the provider of pictures; what its caller does next is to look at the clock."""
    yield Touch(resource="provider", item=params["Key"], mode=_mode(operation))
    yield Touch(resource="clock", mode="read")


_FINDERS: dict[str, Callable[[str, Params, KeyNames], Iterator[Touch]]] = {
    "dynamodb": _dynamodb,
    "sqs": _sqs,
    "s3": _s3,
    "provider": _provider,
}
