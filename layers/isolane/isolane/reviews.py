"""Tasks that wait for a human: taken by a lease, the longest waiting first, and ended by a verdict.

Who takes some gets their texts, too, and for a while nobody else gets them. A verdict counts under the reviewer's own
lease: also when it has lapsed, as long as nobody else has taken the task since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isolane import due
from isolane.cursor import cursor_of, position_of
from isolane.payloads import Payloads
from isolane.task import REVIEWS, Task, text_name
from isolane.tasks import Tasks

LEASE_S = 900
"""How long a reviewer has for what was taken at once; taking it again takes it for as long again."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """A task that is mine to judge until `task.lease_until_ms`."""

    task: Task
    text: str | None
    """What it is about; None where that is gone."""


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    """Some reviews, and the cursor for those after them; None on the last page."""

    reviews: list[Review]
    cursor: str | None


@dataclass(frozen=True)
class Reviews:
    """All tasks in review, whoever owns them."""

    tasks: Tasks
    payloads: Payloads

    def take(self, *, reviewer: str, limit: int, cursor: str | None = None) -> ReviewPage:
        """Takes a page of them. What others have taken is left out, so that a page may be short and have a cursor."""
        after = _position(cursor) if cursor is not None else None
        page = due.not_yet_due(self.tasks, REVIEWS, limit=limit, after=after)
        until_ms = self.tasks.now_ms() + LEASE_S * 1000
        lent = (self.tasks.take(item["task_id"], reviewer=reviewer, until_ms=until_ms) for item in page.items)
        return ReviewPage(
            reviews=[self._with_text(task) for task in lent if task is not None],
            cursor=_cursor(page.after),
        )

    def _with_text(self, task: Task) -> Review:
        return Review(task=task, text=self.payloads.kept(text_name(task.task_id, task.nonce)))

    def waiting(self, *, most: int) -> int:
        """How many tasks are in review, counted up to `most`."""
        return due.count_of(self.tasks, REVIEWS, most=most)


def _cursor(after: dict[str, Any] | None) -> str | None:
    return cursor_of({"t": after["task_id"], "d": after["due_at"]}) if after is not None else None


def _position(cursor: str) -> dict[str, Any]:
    task_id, due_at = position_of(cursor, time="d")
    return {"due": REVIEWS, "task_id": task_id, "due_at": due_at}
