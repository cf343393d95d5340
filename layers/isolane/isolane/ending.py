"""What a task has, and has no more, when it is terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isolane.task import PAID_RESULT_S, REMEMBERED_S, RESULT_S, Status, Task, from_row, to_row

LATE = "late"
"""What a task is due for that was given up while its provider was at it: to be stopped there, and looked at again."""
LOOK_AFTER_S = 60
"""When: a provider that was nearly done then has had the time."""
_OF_THE_UNFINISHED = ("claim_until_ms", "lease_until_ms", "due", "due_at", "progress", "provisional")


@dataclass(frozen=True, kw_only=True)
class End:
    """The attributes that an ending sets, and those that it removes."""

    fields: Mapping[str, Any]
    gone: tuple[str, ...]

    @property
    def change(self) -> str:
        """As an update expression; its values are the fields'."""
        sets = ", ".join(f"#{name} = :{name}" for name in self.fields)
        return f"SET {sets} REMOVE {', '.join(f'#{name}' for name in self.gone)}"

    def of(self, task: Task) -> Task:
        """The task as it is after this."""
        row = {**to_row(task), **self.fields}
        return from_row({name: value for name, value in row.items() if name not in self.gone})


def end(
    status: Status,
    *,
    now_ms: int,
    claim: str | None,
    fields: Mapping[str, Any] | None = None,
    gone: tuple[str, ...] = (),
    paid: bool = False,
    left_at_work: bool = False,
) -> End:
    """An ending, whatever it was.

    `left_at_work`: a provider may go on making what nobody waits for any more. Whether it has taken the work, a copy of
    the task does not tell: it may be handed over this moment.
    """
    expires_at = now_ms // 1000 + (PAID_RESULT_S if paid else RESULT_S)
    duty = {"due": LATE, "due_at": now_ms // 1000 + LOOK_AFTER_S} if left_at_work else {}
    ended = {
        "status": str(status),
        "claim": claim,
        "finished_at_ms": now_ms,
        "expires_at": expires_at,
        "ttl": expires_at + REMEMBERED_S,
        **(fields or {}),
        **duty,
    }
    return End(fields=ended, gone=tuple(name for name in (*_OF_THE_UNFINISHED, *gone) if name not in ended))
