"""What a task is: its states, what it looks like in the table and to its owner, and what a refused claim means.

    pending ── claim ──> processing ── complete ──> completed
       ^                  │  │  │
       └── give back ─────┘  │  └── review ──> in_review ── verdict ──> completed
                             └── fail ──> failed
    pending, processing, in_review ── cancel ──> canceled
    pending, processing, in_review ── its deadline passes ──> failed (timed_out)

completed, failed and canceled are terminal: nothing leaves them. A task that was paid for and ends without its result
gives its price back, in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeGuard

DAY_S = 86_400
UNFINISHED_S = DAY_S
"""A task that is not terminal after this is failed as timed out."""
UNREVIEWED_S = 14 * DAY_S
"""The same, for a task in review."""
RESULT_S = 3_600
"""How long a result is there, from when its task became terminal."""
REMEMBERED_S = DAY_S
"""How long after that the answer is still "it is gone" rather than "there is no such task"."""
UNFINISHED_ROW_S = UNFINISHED_S + 25 * 3_600
"""When DynamoDB may drop the row of a task that never became terminal: a day and an hour after its deadline."""
PAID_RESULT_S = 30 * DAY_S
"""The same as RESULT_S, for what was paid for."""
REVIEWS = "review"
"""What a task in review is due for, by the index of what must happen without a reader: to be failed in the end."""


_LONGEST_ID = 64


def is_task_id(value: Any) -> TypeGuard[str]:
    """Whether a task could have this id: 1 to 64 ASCII characters. DynamoDB takes no key above 2 KB for one."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isascii()


def text_name(task_id: str, nonce: str) -> str:
    """Under which name a task's text is put by, of this submission and no other."""
    return f"{task_id}-{nonce}"


class Status(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELED})


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a task failed: a code for programs, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Task:
    """A piece of work that somebody asked for, as it was when it was read."""

    task_id: str
    kind: str
    owner: str
    nonce: str
    """The submission that made this row; a message with another one is not this row's message."""
    fingerprint: str
    """SHA-256 of the request's canonical form; the same Idempotency-Key with another one is a mistake."""
    created_at_ms: int
    deadline_ms: int
    ttl: int | None = None
    """Seconds since 1970 at which DynamoDB may drop the row; None while something is owed.

    Never what decides: TTL deletion is late.
    """
    status: Status = Status.PENDING
    attempt: int = 0
    """How many claims have succeeded. SQS's receive count is something else."""
    claim: str | None = None
    """Who holds the task or made it terminal: a fresh id for each call, by which a lost answer is recognised."""
    claim_until_ms: int | None = None
    reviewer: str | None = None
    """Who took it last to judge it, or did."""
    lease_until_ms: int | None = None
    """Until when nobody else may take it, while it is in review."""
    due: str | None = None
    """What has to happen to it without a reader; None where nothing has."""
    due_at: int | None = None
    """Seconds since 1970 at which that has to happen."""
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    expires_at: int | None = None
    """Seconds since 1970 after which the result is gone; there once the task is terminal."""
    result: Any = None
    provisional: Any = None
    """What its result would be, while a human has not confirmed it."""
    error: Problem | None = None
    model: str | None = None
    cached: bool = False
    progress: Any = None
    price: int | None = None
    """Credits that its owner was charged, which come back if it ends without a result; None where it is not sold."""
    image_owner: str | None = None
    """Its owner, where it is a picture: what the index of pictures goes by."""
    prompt: str | None = None
    """What a provider is asked for, again and again until it has taken it."""
    prediction_id: str | None = None
    """The provider's own id of the work, once it has taken it."""
    submitted_at_ms: int | None = None
    ask_after_ms: int | None = None
    """When the provider may be asked next, whoever wants to know."""
    late_success_at_ms: int | None = None
    """When the provider was seen to have finished what had been given up and paid back."""

    @property
    def paid(self) -> bool:
        return self.price is not None

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    def overdue(self, now_ms: int) -> bool:
        return not self.terminal and self.deadline_ms <= now_ms

    def expired(self, now_ms: int) -> bool:
        return self.expires_at is not None and self.expires_at * 1000 <= now_ms

    def forgotten(self, now_ms: int) -> bool:
        return self.expires_at is not None and (self.expires_at + REMEMBERED_S) * 1000 <= now_ms


def to_row(task: Task) -> dict[str, Any]:
    """The row of a task; what is not set is left out, what is structured is JSON text."""
    row = {name: value for name, value in vars(task).items() if value is not None}
    row["status"] = str(task.status)
    for name in ("result", "provisional", "progress"):
        if name in row:
            row[name] = as_text(row[name])
    if task.error is not None:
        row["error"] = as_text(vars(task.error))
    return row


def from_row(row: Mapping[str, Any]) -> Task:
    values = {name: row[name] for name in Task.__dataclass_fields__ if name in row}
    values["status"] = Status(row["status"])
    for name in ("result", "provisional", "progress", "error"):
        if name in values:
            values[name] = json.loads(values[name])
    if "error" in values:
        values["error"] = Problem(**values["error"])
    return Task(**values)


def as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def as_json(task: Task) -> dict[str, Any]:
    """The task as its owner sees it; fields that do not apply are left out."""
    seen: dict[str, Any] = {
        "taskId": task.task_id,
        "kind": task.kind,
        "status": str(task.status),
        "terminal": task.terminal,
        "createdAt": timestamp(task.created_at_ms),
        "attempt": task.attempt,
        "startedAt": timestamp(task.started_at_ms),
        "finishedAt": timestamp(task.finished_at_ms),
        "progress": task.progress,
        "score": task.result.get("score") if isinstance(task.result, dict) else None,
        "result": task.result,
        "provisional": task.provisional,
        "model": task.model,
        "error": vars(task.error) if task.error is not None else None,
        "cached": True if task.cached else None,
        "prompt": task.prompt,
    }
    return {name: value for name, value in seen.items() if value is not None}


def timestamp(at_ms: int | None) -> str | None:
    """RFC 3339 in UTC, to the millisecond."""
    if at_ms is None:
        return None
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


def retry_after_s(task: Task, now_ms: int) -> int:
    """When it is worth asking again, in seconds: often while the task is young, then less and less."""
    if task.status is Status.IN_REVIEW:
        return 60
    age_s = (now_ms - task.created_at_ms) / 1000
    steps = ((2, 2), (5, 3), (10, 5), (18, 8), (31, 13))
    return next((wait for younger_than, wait in steps if age_s < younger_than), 15)


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """The task is mine until `task.claim_until_ms`."""

    task: Task


@dataclass(frozen=True, kw_only=True)
class NoRow:
    """There is no row for this submission: not written yet, never written, or somebody else's."""


@dataclass(frozen=True, kw_only=True)
class Busy:
    """Another worker holds it until then."""

    until_ms: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """It is terminal, or in review: there is nothing left to do for a worker."""

    task: Task


@dataclass(frozen=True, kw_only=True)
class Exhausted:
    """It is free, and has had all its attempts."""

    task: Task


@dataclass(frozen=True, kw_only=True)
class Overdue:
    """Its deadline has passed, and nobody has said so yet."""

    task: Task


Claim = Claimed | NoRow | Busy | Finished | Exhausted | Overdue


def read_refusal(found: Mapping[str, Any] | None, *, nonce: str, claim: str, now_ms: int) -> Claim:
    """What it means that the claim's condition did not hold on the row that was found."""
    if found is None or found["nonce"] != nonce:
        return NoRow()
    task = from_row(found)
    if task.status is Status.PROCESSING and task.claim == claim:
        return Claimed(task=task)  # the first try was applied and its answer lost
    if task.terminal or task.status is Status.IN_REVIEW:
        return Finished(task=task)
    if task.overdue(now_ms):
        return Overdue(task=task)
    if task.status is Status.PROCESSING and task.claim_until_ms is not None and task.claim_until_ms > now_ms:
        return Busy(until_ms=task.claim_until_ms)
    return Exhausted(task=task)
