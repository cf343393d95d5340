"""Faults that change what an answer holds, and stay true to the store: nothing that is there is lost for good."""

# ruff: noqa: ARG002 - a kind of fault uses what it needs of what it is told

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.faults import wire
from tests.faults.calls import Call
from tests.faults.faults import Deliver, Fault, respond

_PAGED = ("Query", "Scan")
_SQS_BATCHES = ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch")
_LEFT_OVER = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


# Compared by identity: each holds the pages that it emptied itself.
@dataclass(frozen=True, kw_only=True, eq=False)
class EmptyPage(Fault):
    """A page without items, but with a LastEvaluatedKey that leads to them, as a filter that drops a whole page gives.

    The key is a real one, of the first item. Who asks for what follows it, through a process that plans this same
    fault object, gets the page from its beginning. A page of one item or none is left alone.
    """

    _begins: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def fits(self, call: Call) -> bool:
        """Whether the call reads pages."""
        return call.operation in _PAGED

    def on_build(self, call: Call, params: dict[str, Any]) -> None:
        call.notes["start"] = params.get("ExclusiveStartKey")
        params["Limit"] = 1

    def on_answer(self, call: Call, answer: dict[str, Any]) -> None:
        if "LastEvaluatedKey" not in answer:
            call.fault = ""
            return
        self._begins[repr(answer["LastEvaluatedKey"])] = call.notes["start"]
        answer.update(Items=[], Count=0)

    def follow(self, params: dict[str, Any]) -> None:
        """Sends a caller that follows an empty page's key back to where that page began."""
        key = repr(params.get("ExclusiveStartKey"))
        if key in self._begins:
            _put(params, name="ExclusiveStartKey", value=self._begins.pop(key))

    def __str__(self) -> str:
        return "empty page"


@dataclass(frozen=True, kw_only=True)
class PartialBatch(Fault):
    """Only the first `keep` entries of a batch are done, the others come back as unprocessed or failed.

    With `applied` those others are done all the same, as after an internal error, so that a second try doubles them.
    """

    keep: int = 1
    applied: bool = False

    def fits(self, call: Call) -> bool:
        """Whether it is a batch with more entries than are kept; DynamoDB does at least one."""
        least = 0 if call.operation in _SQS_BATCHES else 1
        return self.keep >= least and len(list(_entries(call))) > self.keep

    def on_build(self, call: Call, params: dict[str, Any]) -> None:
        entries = list(_entries(call))
        call.notes["left"] = entries[self.keep :]
        if self.applied:
            return
        if call.operation in _SQS_BATCHES:
            # An empty list would not pass validation; on_send answers in its place.
            params["Entries"] = [entry for _, entry in entries[: self.keep]] or params["Entries"]
        else:
            params["RequestItems"] = _request_items(entries[: self.keep], like=call.params["RequestItems"])

    def on_send(self, call: Call, request: AWSPreparedRequest, deliver: Deliver) -> AWSResponse | None:
        return None if self.keep or self.applied else respond(request, answer=wire.empty())

    def on_answer(self, call: Call, answer: dict[str, Any]) -> None:
        left = call.notes["left"]
        if call.operation in _SQS_BATCHES:
            failed = {entry["Id"] for _, entry in left}
            answer["Successful"] = [done for done in answer.get("Successful", []) if done["Id"] not in failed]
            answer["Failed"] = [*answer.get("Failed", []), *(_failed(entry) for _, entry in left)]
        else:
            answer[_LEFT_OVER[call.operation]] = _request_items(left, like=call.params["RequestItems"])
            _forget(answer, left=left)

    def __str__(self) -> str:
        return f"batch done to {self.keep}" + (" (all applied)" if self.applied else "")


def _put(params: dict[str, Any], *, name: str, value: Any) -> None:
    params.pop(name)
    if value is not None:
        params[name] = value


def _entries(call: Call) -> Iterator[tuple[str, Any]]:
    if call.operation in _SQS_BATCHES:
        yield from (("", entry) for entry in call.params["Entries"])
    elif call.operation in _LEFT_OVER:
        for table, requests in call.params["RequestItems"].items():
            keys = requests["Keys"] if isinstance(requests, Mapping) else requests
            yield from ((table, entry) for entry in keys)


def _request_items(entries: list[tuple[str, Any]], *, like: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for table, entry in entries:
        asked = like[table]
        if isinstance(asked, Mapping):
            made.setdefault(table, {**asked, "Keys": []})["Keys"].append(entry)
        else:
            made.setdefault(table, []).append(entry)
    return made


def _failed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"Id": entry["Id"], "SenderFault": False, "Code": "InternalError", "Message": "Failed by the fault lab."}


def _forget(answer: dict[str, Any], *, left: list[tuple[str, Any]]) -> None:
    for table, key in left:
        rows = answer.get("Responses", {}).get(table, [])
        rows[:] = [row for row in rows if any(row.get(name) != value for name, value in key.items())]
