"""A caller's own tasks, newest first, by page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isolane.aws.table import get_many
from isolane.cursor import cursor_of, position_of
from isolane.task import Task, from_row
from isolane.tasks import Tasks

LONGEST_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Owned:
    """An index of tasks by owner and age."""

    index: str
    attribute: str
    """What holds the owner in it."""


ALL = Owned(index="by-owner", attribute="owner")


@dataclass(frozen=True, kw_only=True)
class TaskPage:
    """Some tasks, and the cursor for those after them; None on the last page."""

    tasks: list[Task]
    cursor: str | None


def list_tasks(
    tasks: Tasks,
    *,
    owner: str,
    limit: int,
    cursor: str | None = None,
    owned: Owned = ALL,
    wanted: Callable[[Task], bool] = lambda _: True,
) -> TaskPage:
    """One page of the owner's tasks. With a filter a page may be short, even empty, and still have a cursor."""
    page = tasks.table.query(
        f"#{owned.attribute} = :owner",
        index=owned.index,
        values={"owner": owner},
        limit=limit,
        newest_first=True,
        after={owned.attribute: owner, **_position(cursor)} if cursor is not None else None,
    )
    # The index proposes; what a task is now, the table says.
    rows = get_many([(tasks.table, {"task_id": item["task_id"]}) for item in page.items])
    seen = [tasks.settled(task) for task in map(from_row, filter(None, rows)) if _visible(task, tasks, owner=owner)]
    return TaskPage(tasks=[task for task in seen if wanted(task)], cursor=_cursor(page.after))


def _visible(task: Task, tasks: Tasks, *, owner: str) -> bool:
    return task.owner == owner and not task.expired(tasks.now_ms())


def _cursor(after: dict[str, Any] | None) -> str | None:
    """Where the page ended, without the owner: a cursor means nothing in somebody else's hands."""
    return cursor_of({"t": after["task_id"], "c": after["created_at_ms"]}) if after is not None else None


def _position(cursor: str) -> dict[str, Any]:
    task_id, created_at_ms = position_of(cursor, time="c")
    return {"task_id": task_id, "created_at_ms": created_at_ms}
