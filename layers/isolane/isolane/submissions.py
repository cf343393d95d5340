"""How a task comes into being: replayed, answered from the cache, or sent and written."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from isolane.aws.queue import Queue
from isolane.aws.table import Item, Table, get_many
from isolane.errors import IdempotencyMismatch, InvalidRequest
from isolane.json_edge import dumps
from isolane.kv import Values
from isolane.payloads import Payloads
from isolane.task import REMEMBERED_S, RESULT_S, Status, Task, from_row, text_name
from isolane.tasks import Tasks

REVIEW = "review"
"""In a value of the cache: why it is no answer yet, but what equal texts end with, too."""
LONGEST_KEY = 255


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What somebody asks for."""

    kind: str
    owner: str
    text: str
    fingerprint: str
    """SHA-256 of the request in canonical form."""
    cache_key: str
    idempotency_key: str | None = None

    def task_id(self) -> str:
        """The same for the same caller and Idempotency-Key; without a key a new one each time it is asked."""
        return id_of(owner=self.owner, idempotency_key=self.idempotency_key)


def id_of(*, owner: str, idempotency_key: str | None) -> str:
    """The same for the same caller and Idempotency-Key; without a key a new one each time it is asked."""
    if idempotency_key is None:
        return uuid4().hex
    if not 0 < len(idempotency_key) <= LONGEST_KEY:
        raise InvalidRequest(f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    scoped = f"{len(owner)}:{owner}:{idempotency_key}"
    return hashlib.sha256(scoped.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """The task that answers a submission; `replayed` where an earlier one under the same key had made it."""

    task: Task
    replayed: bool


@dataclass(frozen=True, kw_only=True)
class Submissions:
    """The way in for one queue."""

    tasks: Tasks
    values: Values
    queue: Queue
    payloads: Payloads
    shed: Callable[[], None] = lambda: None
    """Raises Overloaded where more cannot be done in time. Asked for what would have to wait, and nothing else."""

    def submit(self, submission: Submission) -> Submitted:
        """Makes the task, once for each Idempotency-Key. Raises IdempotencyMismatch for a key with another body."""
        task_id = submission.task_id()
        earlier, cached = self._look_up(submission, task_id=task_id)
        if earlier is not None:
            return self._replay(earlier, submission)
        new = self.tasks.new(
            task_id=task_id, kind=submission.kind, owner=submission.owner, fingerprint=submission.fingerprint
        )
        if cached is not None:
            new = _answered(new, cached)
        else:
            self.shed()
            self._send(new, submission.text)
        return self._written(new, submission)

    def _look_up(self, submission: Submission, *, task_id: str) -> tuple[Task | None, Any | None]:
        wanted: list[tuple[Table, Item]] = [(self.values.table, self.values.row_key(submission.cache_key))]
        if submission.idempotency_key is not None:
            wanted.append((self.tasks.table, {"task_id": task_id}))
        cached, *rows = get_many(wanted)
        task = from_row(rows[0]) if rows and rows[0] is not None else None
        alive = task is not None and not task.expired(self.tasks.now_ms())
        return task if alive else None, _final(self.values.live(cached))

    def _replay(self, earlier: Task, submission: Submission) -> Submitted:
        if earlier.fingerprint != submission.fingerprint:
            raise IdempotencyMismatch
        return Submitted(task=self.tasks.settled(earlier), replayed=True)

    def _send(self, task: Task, text: str) -> None:
        """The message goes first: a message without a row is dropped, a row without a message would wait for ever."""
        body = {"task_id": task.task_id, "nonce": task.nonce, "kind": task.kind, "owner": task.owner}
        self.queue.send(dumps({**body, **self.payloads.carry(text, key=text_name(task.task_id, task.nonce))}))

    def _written(self, new: Task, submission: Submission) -> Submitted:
        there = self.tasks.add(new)
        if there.nonce != new.nonce:  # another submit under the same key was first; our message finds its row, not ours
            return self._replay(there, submission)
        return Submitted(task=there, replayed=False)


def _final(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A value that answers; what a human has to judge first does not."""
    return value if value is not None and REVIEW not in value else None


def _answered(new: Task, cached: Mapping[str, Any]) -> Task:
    """The task that a cached answer completes at once."""
    expires_at = new.created_at_ms // 1000 + RESULT_S
    return dataclasses.replace(
        new,
        status=Status.COMPLETED,
        cached=True,
        result=cached["result"],
        model=cached["model"],
        finished_at_ms=new.created_at_ms,
        expires_at=expires_at,
        ttl=expires_at + REMEMBERED_S,
    )
