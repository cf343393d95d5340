"""Several writes, of one table or of several, that happen together or not at all.

    transact([
        Put(attempts, {"pk": …, "sk": …}, when="attribute_not_exists(#pk)"),
        Update(workshops, key, "SET #left = #left - :seats", when="#left >= :seats", values={"seats": 2}),
    ])

Each write carries its own condition, values and names, written as in `table.py`; an item may be in one of them only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isolane.aws.codec import to_item
from isolane.aws.failures import in_our_words
from isolane.aws.table import Item, Table, guarded


@dataclass(frozen=True)
class Put:
    """Writes the whole row; with `when`, only if it holds."""

    table: Table
    item: Item
    when: str | None = field(default=None, kw_only=True)
    values: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def request(self) -> dict[str, Any]:
        guards = guarded(self.when, values=self.values)
        return {"Put": {"TableName": self.table.name, "Item": to_item(self.item), **guards}}


@dataclass(frozen=True)
class Update:
    """Changes the row; with `when`, only if it holds."""

    table: Table
    key: Item
    change: str
    when: str | None = field(default=None, kw_only=True)
    values: Mapping[str, Any] | None = field(default=None, kw_only=True)
    names: Mapping[str, str] | None = field(default=None, kw_only=True)

    def request(self) -> dict[str, Any]:
        guards = guarded(self.when, self.change, values=self.values, names=self.names)
        place = {"TableName": self.table.name, "Key": to_item(self.key)}
        return {"Update": {**place, "UpdateExpression": self.change, **guards}}


@dataclass(frozen=True)
class Delete:
    """Removes the row; with `when`, only if it holds."""

    table: Table
    key: Item
    when: str | None = field(default=None, kw_only=True)
    values: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def request(self) -> dict[str, Any]:
        guards = guarded(self.when, values=self.values)
        return {"Delete": {"TableName": self.table.name, "Key": to_item(self.key), **guards}}


@dataclass(frozen=True)
class Check:
    """Changes nothing, and lets the others happen only if `when` holds for this row."""

    table: Table
    key: Item
    when: str = field(kw_only=True)
    values: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def request(self) -> dict[str, Any]:
        guards = guarded(self.when, values=self.values)
        return {"ConditionCheck": {"TableName": self.table.name, "Key": to_item(self.key), **guards}}


Write = Put | Update | Delete | Check


def transact(writes: Sequence[Write]) -> None:
    """Makes all of the writes, with one call, or none of them.

    Raises TransactionRefused with what was found where a condition did not hold, and Contended where nothing spoke
    against it but another transaction. A call that is sent again because its answer was lost may be refused by what it
    has done itself: let a condition or an attribute of the caller's own tell.
    """
    requests: Any = [write.request() for write in writes]
    with in_our_words():
        writes[0].table.client.transact_write_items(TransactItems=requests)
