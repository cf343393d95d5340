"""Values with a time to live, and the cache by content that is built on them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isolane.aws.table import Table, get_many, put_many
from isolane.characters import nfc
from isolane.task import as_text


@dataclass(frozen=True)
class Values:
    """JSON values by key, each gone after its time to live, whether or not DynamoDB has deleted it yet."""

    table: Table
    clock: Callable[[], float] = time.time

    def get(self, key: str) -> Any | None:
        """The value, or None where there is none or its time is over."""
        return self.live(self.table.get(self.row_key(key)))

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """The values that are there, by key, with one read; at most 100 keys."""
        rows = get_many([(self.table, self.row_key(key)) for key in keys])
        found = {key: self.live(row) for key, row in zip(keys, rows, strict=True)}
        return {key: value for key, value in found.items() if value is not None}

    def put(self, key: str, value: Any, *, ttl_s: int) -> None:
        """Stores the value for `ttl_s` seconds from now, over whatever was there."""
        self.table.put(self._row(key, value, ttl_s=ttl_s))

    def put_many(self, values: Mapping[str, Any], *, ttl_s: int) -> None:
        """The same for at most 25 values by key, with one write."""
        put_many(self.table, [self._row(key, value, ttl_s=ttl_s) for key, value in values.items()])

    def row_key(self, key: str) -> dict[str, str]:
        """The key of the value's row, for reading it together with others (`aws.table.get_many`)."""
        return {"key": key}

    def live(self, row: Mapping[str, Any] | None) -> Any | None:
        """The value in a row, unless its time is over: TTL deletion is late.

        None also where the row is a flight: a value that somebody is making.
        """
        if row is None or "value" not in row or row["expires_at"] <= self.clock():
            return None
        return json.loads(row["value"])

    def _row(self, key: str, value: Any, *, ttl_s: int) -> dict[str, Any]:
        return {**self.row_key(key), "value": as_text(value), "expires_at": int(self.clock()) + ttl_s}


def content_key(kind: str, *parts: str) -> str:
    """One key for one content: a SHA-256 over the parts, each in NFC, none able to run into the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = nfc(part).encode()
        digest.update(f"{len(data)}:".encode() + data)
    return f"{kind}#{digest.hexdigest()}"
