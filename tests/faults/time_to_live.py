"""What DynamoDB's time to live does, and what it does not do yet.

moto never deletes by TTL and an emulator does so when it likes, so both halves are made here, in the store itself, and
conditions, reads and queries all see the same: `age_rows` lets rows lie there past their time, `reap_rows` takes them.
Use them between steps, as an actor of a race, or as `Meanwhile(happens=...)`, through clients that nobody watches.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.faults.calls import key_of_table


def age_rows(dynamodb: Any, *, table: str, attributes: Mapping[str, int]) -> None:
    """Moves the times in every row of a table into the past: `attributes` says by how much, each in its own unit."""
    for key, row in _rows(dynamodb, table=table):
        found = {name: by for name, by in attributes.items() if "N" in row.get(name, {})}
        if found:
            _subtract(dynamodb, table=table, key=key, amounts=found)


def reap_rows(dynamodb: Any, *, table: str, attribute: str, now_s: int) -> int:
    """Deletes the rows whose TTL attribute lies before `now_s`, each only if it still does; says how many."""
    names = {"#ttl": attribute}
    due = [key for key, row in _rows(dynamodb, table=table) if int(row.get(attribute, {}).get("N", now_s)) < now_s]
    return sum(_delete_if_due(dynamodb, table=table, key=key, names=names, now_s=now_s) for key in due)


def _rows(dynamodb: Any, *, table: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    names = key_of_table(dynamodb, table=table)
    for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        for row in page["Items"]:
            yield {name: row[name] for name in names}, row


def _subtract(dynamodb: Any, *, table: str, key: dict[str, Any], amounts: Mapping[str, int]) -> None:
    dynamodb.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="ADD " + ", ".join(f"#a{number} :a{number}" for number in range(len(amounts))),
        ExpressionAttributeNames={f"#a{number}": name for number, name in enumerate(amounts)},
        ExpressionAttributeValues={f":a{number}": {"N": str(-by)} for number, by in enumerate(amounts.values())},
    )


def _delete_if_due(dynamodb: Any, *, table: str, key: dict[str, Any], names: dict[str, str], now_s: int) -> bool:
    try:
        dynamodb.delete_item(
            TableName=table,
            Key=key,
            ConditionExpression="#ttl < :now",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={":now": {"N": str(now_s)}},
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True
