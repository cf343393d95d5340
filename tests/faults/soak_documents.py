"""Batches of documents in a soak: handed in under their own keys until they are taken, and asked after to their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isolane.blocks import BLOCK, from_row, newest
from tests.e2e.client import Answer
from tests.faults.soak_clients import Callers, name_of, pause_s, tried

A_BATCH = 40
_ENDS = {"not_queued"}
"""Why a document may fail where its embedder never does: the queue did not take it, and its owner was told so."""


@dataclass
class Batch:
    """One batch, and what its owner saw."""

    key: str
    answers: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    """The batch's id, by every answer that named one."""
    progress: Mapping[str, Any] | None = None
    """As it was seen last."""

    @property
    def documents(self) -> list[dict[str, str]]:
        return [
            {"id": f"{self.key}-{number}", "text": f"Rivers, text {number} of {self.key}."} for number in range(A_BATCH)
        ]

    @property
    def ended(self) -> bool:
        return self.progress is not None and self.progress["progress"] == 100

    @property
    def failed(self) -> dict[str, str]:
        """Why which documents have failed, by their ids."""
        return {each["id"]: each["code"] for each in self.progress["errors"]} if self.progress is not None else {}

    def note(self, answer: Answer | None) -> None:
        self.answers[name_of(answer)] += 1
        if answer is not None and answer.status == 202:
            self.ids.add(answer.json["batchId"])
        if answer is not None and answer.status == 200:
            self.progress = answer.json


@dataclass(frozen=True, kw_only=True)
class Owners:
    """Whoever hands batches in; all give up when the callers do."""

    callers: Callers

    def submit(self, batches: Sequence[Batch]) -> None:
        """Hands each in, under the same key until it is taken."""
        self.callers.all(self._submit, batches)

    def follow(self, batches: Sequence[Batch]) -> None:
        """Asks after each until all its documents have come to an end."""
        self.callers.all(self._follow, batches)

    def _submit(self, batch: Batch) -> None:
        body, headers = {"documents": batch.documents}, {"Idempotency-Key": batch.key}
        while not (batch.ids or self.callers.over.is_set()):
            answer = tried(lambda: self.callers.api.call("POST", "/api/embed/batch", body=body, headers=headers))
            batch.note(answer)
            self.callers.over.wait(0.0 if batch.ids else pause_s(answer))

    def _follow(self, batch: Batch) -> None:
        path = "".join(f"/api/embed/batches/{batch_id}" for batch_id in batch.ids)
        while path and not batch.ended and not self.callers.over.is_set():
            answer = tried(lambda: self.callers.api.call("GET", path))
            batch.note(answer)
            self.callers.over.wait(0.0 if batch.ended else pause_s(answer))


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """What is left of documents after a soak."""

    batches: Sequence[Batch]
    there: frozenset[str]
    """The ids of the documents that have vectors."""


def shelf(batches: Sequence[Batch], *, rows: Sequence[Mapping[str, Any]]) -> Shelf:
    """By the rows of State."""
    blocks = [from_row(row) for row in rows if str(row["sk"]).startswith(BLOCK)]
    return Shelf(batches=batches, there=frozenset(newest(blocks)))


def violations(found: Shelf) -> Iterator[str]:
    """What is wrong with batches and vectors, in words."""
    for batch in found.batches:
        if len(batch.ids) != 1 or not batch.ended:
            yield f"{batch.key} has {len(batch.ids)} batches, at {batch.progress}; its answers: {dict(batch.answers)}"
            continue
        assert batch.progress is not None
        names = {each["id"] for each in batch.documents}
        if batch.progress["completed"] + batch.progress["failed"] != len(names):
            yield f"{batch.key} is at {batch.progress['completed']} and {batch.progress['failed']} of {len(names)}"
        if odd := set(batch.failed.values()) - _ENDS:
            yield f"{batch.key} has documents that failed of {sorted(odd)}"
        if lost := names - found.there - batch.failed.keys():
            yield f"{batch.key} has lost the vectors of {len(lost)} documents"
    every = {each["id"] for batch in found.batches for each in batch.documents}
    if nobodys := found.there - every:
        yield f"{len(nobodys)} vectors are nobody's"
