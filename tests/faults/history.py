"""What happened to every row, in order, told by DynamoDB's own streams: what was true once and is not any more, too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moto.backends import get_backend

from isolane.aws.codec import from_item
from isolane.task import Task, from_row

_KEYS = {"TasksTable": ("task_id",), "StateTable": ("pk", "sk"), "ValuesTable": ("key",)}
"""Names of each table's key attributes.

moto tells an update that makes a row twice, the first time with no more than these.
"""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A row as it was before and after one write; None where it was not there."""

    table: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    at_ms: int
    """The lab's clock at the time of the write."""
    asked_ms: int
    """The earliest time at which the writer can have looked at the clock: a call may be long on its way."""

    @property
    def key(self) -> str:
        """The values of the row's key, as one text."""
        row = self.after if self.after is not None else self.before or {}
        return "/".join(str(row[name]) for name in _KEYS[self.table])


@dataclass(frozen=True, kw_only=True)
class Move:
    """A change of a task's row."""

    before: Task | None
    after: Task | None
    at_ms: int
    asked_ms: int

    @classmethod
    def of(cls, change: Change) -> "Move":
        before, after = (from_row(row) if row is not None else None for row in (change.before, change.after))
        return cls(before=before, after=after, at_ms=change.at_ms, asked_ms=change.asked_ms)

    def __str__(self) -> str:
        return f"{_told(self.before)} -> {_told(self.after)}"


def record_changes(dynamodb: Any, *, table: str) -> None:
    """Switches on the table's stream."""
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    dynamodb.update_table(TableName=table, StreamSpecification=stream)


def take_changes(tables: Mapping[str, str], *, at_ms: int, asked_ms: int) -> Iterator[Change]:
    """What was written since the last time, and is told once only; `tables` maps physical names to those to tell."""
    for name, table in _streamed(tables):
        # The stream's API would tell the same, at a hundred times the price, and never forget it.
        records, table.stream_shard.items = table.stream_shard.items, []
        for record in records:
            images = record.record["dynamodb"]
            before, after = (_image(images.get(which)) for which in ("OldImage", "NewImage"))
            if before != after and not (before is None and after is not None and set(after) <= set(_KEYS[name])):
                yield Change(table=name, before=before, after=after, at_ms=at_ms, asked_ms=asked_ms)


def forget_rows(tables: Mapping[str, str]) -> None:
    """Empties the tables, and their streams with them; to make them anew would take a hundred times as long."""
    for _, table in _streamed(tables):
        table.items.clear()
        table.stream_shard.items = []


def _streamed(tables: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for regions in get_backend("dynamodb").values():
        for backend in regions.values():
            for physical, table in backend.tables.items():
                if physical in tables and table.stream_shard is not None:
                    yield tables[physical], table


def _image(image: Any) -> dict[str, Any] | None:
    return from_item(image) if image else None


def _told(task: Task | None) -> str:
    if task is None:
        return "no row"
    return f"{task.status} (attempt {task.attempt}, claim {(task.claim or '-')[:6]}, nonce {task.nonce[:6]})"
