"""What has to happen to a task without a reader, by an index that proposes; what a task is now, the table says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isolane.aws.table import Page, count, get_many
from isolane.task import Task, from_row
from isolane.tasks import Tasks

BY_DUE = "by-due"
_AT_ONCE = 100
"""Tasks of one page: as many as one BatchGetItem reads."""


def due(tasks: Tasks, duty: str) -> Iterator[Task]:
    """The tasks for which the time of this duty has come, the longest overdue first."""
    after = None
    while True:
        page = tasks.table.query(
            "#due = :due AND #due_at <= :now_s",
            index=BY_DUE,
            values={"due": duty, "now_s": tasks.now_ms() // 1000},
            limit=_AT_ONCE,
            after=after,
        )
        rows = get_many([(tasks.table, {"task_id": item["task_id"]}) for item in page.items])
        yield from (task for task in map(from_row, filter(None, rows)) if task.due == duty)
        if page.after is None:
            return
        after = page.after


def not_yet_due(tasks: Tasks, duty: str, *, limit: int, after: dict[str, Any] | None) -> Page:
    """A page of the keys of those for which it has not, the first to be due first.

    A place that has become due meanwhile is none any more, and DynamoDB refuses to go on from it: then from the first.
    """
    now_s = tasks.now_ms() // 1000
    return tasks.table.query(
        "#due = :due AND #due_at > :now_s",
        index=BY_DUE,
        values={"due": duty, "now_s": now_s},
        limit=limit,
        after=after if after is not None and after["due_at"] > now_s else None,
    )


def count_of(tasks: Tasks, duty: str, *, most: int) -> int:
    """How many tasks have this duty, counted up to `most`."""
    return count(tasks.table, "#due = :due", values={"due": duty}, most=most, index=BY_DUE)
