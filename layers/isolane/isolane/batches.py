"""How far a batch of documents is: which of them are done, and which have failed and why. Twice is once.

The indexes of those that are done are a number set, and each failure lies under its index: whatever is marked again, by
a redelivery or by a worker that was thought dead, counts once. Done beats failed, whichever came first: there is a
vector.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isolane.aws.table import Table
from isolane.errors import ConditionFailed
from isolane.task import Problem, is_task_id

# The clauses of the conditions, each with the race that it closes.

NOT_THERE = "(attribute_not_exists(#key) OR #expires_at <= :now_s)"
"""Two that hand in one batch under one Idempotency-Key: the first makes the row. And expiry, which deletes late."""
THERE = "attribute_exists(#key)"
"""A mark that comes after the batch was forgotten must not bring it back as a row of nobody's."""

KEPT_S = 7 * 86_400
"""How long a batch can be asked about: longer than a document may wait (a day) or a message live (four)."""
_MOST_IN_A_WRITE = 50
"""Failures that one write names; DynamoDB bounds the length of an expression at 4 KB."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch as it was when its row was read."""

    batch_id: str
    owner: str
    fingerprint: str
    """SHA-256 of the request in canonical form."""
    total: int
    created_at_ms: int
    queued: int | None
    """How many documents went into the queue; None while, or where, whoever handed it in was not told."""
    done: frozenset[int] = frozenset()
    problems: Mapping[int, tuple[str, Problem]] = field(default_factory=dict)
    """By index, what became of the others that have come to an end: the document's id, and why."""

    @property
    def failed(self) -> Mapping[int, tuple[str, Problem]]:
        return {index: found for index, found in sorted(self.problems.items()) if index not in self.done}

    @property
    def finished(self) -> bool:
        return len(self.done) + len(self.failed) >= self.total


@dataclass(frozen=True)
class Batches:
    """All batches of a deployment, in the Values table."""

    table: Table
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def add(self, batch_id: str, *, owner: str, fingerprint: str, total: int) -> Batch:
        """Makes the row, and returns it; or the one that is there already."""
        now_ms = self.now_ms()
        row = {
            **_key(batch_id),
            "batch_owner": owner,
            "fingerprint": fingerprint,
            "total": total,
            "created_at_ms": now_ms,
            "problems": {},
            "expires_at": now_ms // 1000 + KEPT_S,
        }
        try:
            self.table.put(row, when=NOT_THERE, values={"now_s": now_ms // 1000})
        except ConditionFailed as refusal:
            return _batch(refusal.found or row, batch_id=batch_id)
        return _batch(row, batch_id=batch_id)

    def find(self, batch_id: str, *, owner: str) -> Batch | None:
        """The owner's batch as it is now; None where there is none, or its time is over."""
        row = self.table.get(_key(batch_id)) if is_task_id(batch_id) else None
        if row is None or row["expires_at"] <= self.clock() or row["batch_owner"] != owner:
            return None
        return _batch(row, batch_id=batch_id)

    def told(self, batch_id: str, *, queued: int, problems: Mapping[int, tuple[str, Problem]]) -> Batch | None:
        """Notes how many were queued, and what became of the others: whoever handed the batch in is told so."""
        places = sorted(problems)
        for start in range(_MOST_IN_A_WRITE, len(places), _MOST_IN_A_WRITE):
            some = {index: problems[index] for index in places[start : start + _MOST_IN_A_WRITE]}
            self._change(batch_id, [], done=frozenset(), problems=some)
        first = {index: problems[index] for index in places[:_MOST_IN_A_WRITE]}
        return self._change(batch_id, ["#queued = :queued"], done=frozenset(), problems=first, queued=queued)

    def mark(
        self,
        batch_id: str,
        *,
        done: frozenset[int] = frozenset(),
        problems: Mapping[int, tuple[str, Problem]] | None = None,
    ) -> Batch | None:
        """Marks documents as done or failed, with one write; None where the batch is forgotten."""
        return self._change(batch_id, [], done=done, problems=problems or {})

    def _change(
        self,
        batch_id: str,
        changes: list[str],
        *,
        done: frozenset[int],
        problems: Mapping[int, tuple[str, Problem]],
        **values: Any,
    ) -> Batch | None:
        sets = [*changes, *(f"#problems.#p{index} = :p{index}" for index in problems)]
        parts = [f"SET {', '.join(sets)}"] * bool(sets) + ["ADD #done :done"] * bool(done)
        entries = {f"p{index}": [name, it.code, it.message] for index, (name, it) in problems.items()}
        try:
            row = self.table.update(
                _key(batch_id),
                " ".join(parts),
                when=THERE,
                values={"done": set(done), **values, **entries},
                names={f"p{index}": str(index) for index in problems},
            )
        except ConditionFailed:
            return None
        return _batch(row, batch_id=batch_id)


def _key(batch_id: str) -> dict[str, str]:
    return {"key": f"embed-batch#{batch_id}"}


def _batch(row: Mapping[str, Any], *, batch_id: str) -> Batch:
    problems = {
        int(index): (name, Problem(code=code, message=message))
        for index, (name, code, message) in row["problems"].items()
    }
    return Batch(
        batch_id=batch_id,
        owner=row["batch_owner"],
        fingerprint=row["fingerprint"],
        total=row["total"],
        created_at_ms=row["created_at_ms"],
        queued=row.get("queued"),
        done=frozenset(row.get("done", ())),
        problems=problems,
    )
