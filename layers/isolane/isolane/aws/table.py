"""A DynamoDB table: conditional writes, reads that are consistent, queries by page.

Expressions are written with `#name` for every attribute and `:name` for every value; names are aliased here, always, so
that no reserved word can bite, and only the values that an expression uses are sent. `#name` is the attribute of that
name; where an entry of a map is called by any text at all, `names` says what `#alias` stands for. Several writes that
go together are in `transaction.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isolane.aws.codec import from_item, to_attribute, to_item
from isolane.aws.failures import in_our_words
from isolane.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]
Returned = Literal["ALL_NEW", "UPDATED_NEW", "NONE"]

_NAME = re.compile(r"#(\w+)")
_VALUE = re.compile(r":(\w+)")
_BATCH_READ_TRIES = 4
_BATCH_WRITE_TRIES = 4
MOST_PUT_AT_ONCE = 25


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some rows, and where the next ones begin; `after` is None on the last page."""

    items: list[Item]
    after: Item | None


@dataclass(frozen=True)
class Table:
    """One table, by name. Every method is one call to DynamoDB."""

    client: DynamoDBClient
    name: str

    def get(self, key: Item) -> Item | None:
        """The row as it is now (a consistent read), or None."""
        with in_our_words():
            answer = self.client.get_item(TableName=self.name, Key=to_item(key), ConsistentRead=True)
        return from_item(answer["Item"]) if "Item" in answer else None

    def put(self, item: Item, *, when: str | None = None, values: Mapping[str, Any] | None = None) -> None:
        """Writes the whole row; with `when`, only if it holds, else ConditionFailed with the row that was found."""
        with in_our_words():
            self.client.put_item(TableName=self.name, Item=to_item(item), **guarded(when, values=values))

    def update(
        self,
        key: Item,
        change: str,
        *,
        when: str | None = None,
        values: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        returns: Returned = "ALL_NEW",
    ) -> Item:
        """Changes the row and returns it as it is after; with `when`, only if it holds, else ConditionFailed.

        With `returns`, no more comes back than what was changed (UPDATED_NEW), or nothing (NONE).
        """
        with in_our_words():
            answer = self.client.update_item(
                TableName=self.name,
                Key=to_item(key),
                UpdateExpression=change,
                ReturnValues=returns,
                **guarded(when, change, values=values, names=names),
            )
        return from_item(answer.get("Attributes", {}))

    def delete(self, key: Item, *, when: str | None = None, values: Mapping[str, Any] | None = None) -> None:
        """Removes the row; with `when`, only if it holds, else ConditionFailed."""
        with in_our_words():
            self.client.delete_item(TableName=self.name, Key=to_item(key), **guarded(when, values=values))

    def query(
        self,
        where: str,
        *,
        values: Mapping[str, Any],
        limit: int,
        index: str | None = None,
        newest_first: bool = False,
        after: Item | None = None,
    ) -> Page:
        """One page of the rows that match; on an index they are candidates, which the base table has to confirm."""
        place: dict[str, Any] = {"IndexName": index} if index is not None else {"ConsistentRead": True}
        start: dict[str, Any] = {"ExclusiveStartKey": to_item(after)} if after is not None else {}
        with in_our_words():
            answer = self.client.query(
                TableName=self.name,
                KeyConditionExpression=where,
                Limit=limit,
                ScanIndexForward=not newest_first,
                **place,
                **start,
                **_aliases(where, values=values, names={}),
            )
        last = answer.get("LastEvaluatedKey")
        return Page(items=[from_item(item) for item in answer["Items"]], after=from_item(last) if last else None)


def count(table: Table, where: str, *, values: Mapping[str, Any], most: int, index: str | None = None) -> int:
    """How many rows match, counted up to `most` and no further: one call for each MiB of them."""
    place: dict[str, Any] = {"IndexName": index} if index is not None else {}
    found, start = 0, dict[str, Any]()
    while True:
        with in_our_words():
            answer = table.client.query(
                TableName=table.name,
                KeyConditionExpression=where,
                Select="COUNT",
                Limit=most - found,
                **place,
                **start,
                **_aliases(where, values=values, names={}),
            )
        found += answer["Count"]
        last = answer.get("LastEvaluatedKey")
        if last is None or found >= most:
            return found
        start = {"ExclusiveStartKey": last}


def get_many(wanted: Sequence[tuple[Table, Item]]) -> list[Item | None]:
    """Rows of one or several tables with one call, in the order asked for; None for each that is not there.

    Raises Unavailable where DynamoDB keeps leaving keys out: a missing answer is not a missing row.
    """
    if not wanted:
        return []
    found: dict[tuple[str, str], Item] = {}
    open_keys = _batched(wanted)
    for _ in range(_BATCH_READ_TRIES):
        with in_our_words():
            answer = wanted[0][0].client.batch_get_item(RequestItems=open_keys)
        for table, items in answer["Responses"].items():
            found.update({(table, _identity(from_item(item), wanted, table)): from_item(item) for item in items})
        open_keys = answer.get("UnprocessedKeys") or {}
        if not open_keys:
            return [found.get((table.name, repr(sorted(key.items())))) for table, key in wanted]
    raise Unavailable


def put_many(table: Table, items: Sequence[Item]) -> None:
    """Writes whole rows, at most 25 and each of another key, with one call, whatever was there.

    Raises Unavailable where DynamoDB keeps leaving some out; the others are written then.
    """
    open_writes: Any = [{"PutRequest": {"Item": to_item(item)}} for item in items]
    for _ in range(_BATCH_WRITE_TRIES):
        if not open_writes:
            return
        with in_our_words():
            answer = table.client.batch_write_item(RequestItems={table.name: open_writes})
        open_writes = answer.get("UnprocessedItems", {}).get(table.name, [])
    if open_writes:
        raise Unavailable


def _batched(wanted: Iterable[tuple[Table, Item]]) -> dict[str, Any]:
    requests: dict[str, Any] = {}
    for table, key in wanted:
        keys = requests.setdefault(table.name, {"Keys": [], "ConsistentRead": True})["Keys"]
        if to_item(key) not in keys:  # DynamoDB refuses the same key twice
            keys.append(to_item(key))
    return requests


def _identity(item: Item, wanted: Iterable[tuple[Table, Item]], name: str) -> str:
    names = next(list(key) for table, key in wanted if table.name == name)
    return repr(sorted((attribute, item[attribute]) for attribute in names))


def guarded(
    when: str | None, change: str = "", *, values: Mapping[str, Any] | None, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The parts of a write that say when it may happen and what its `#name` and `:value` stand for."""
    aliases = _aliases(f"{change} {when or ''}", values=values or {}, names=names or {})
    if when is None:
        return aliases
    return {"ConditionExpression": when, "ReturnValuesOnConditionCheckFailure": "ALL_OLD", **aliases}


def _aliases(expression: str, *, values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    aliases = {f"#{name}": names.get(name, name) for name in _NAME.findall(expression)}
    used = {f":{name}": to_attribute(values[name]) for name in _VALUE.findall(expression)}
    # DynamoDB refuses an empty map; moto does not.
    return {
        **({"ExpressionAttributeNames": aliases} if aliases else {}),
        **({"ExpressionAttributeValues": used} if used else {}),
    }
