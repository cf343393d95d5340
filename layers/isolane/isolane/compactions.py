"""Which owners' vectors are to be merged into fewer rows, and the merging, by one at a time for each owner.

Whoever has added many vectors asks for it (`ask`), and the sweeper does it. What is asked again while it is being done
is done again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from isolane.at_most import at_most
from isolane.aws.table import Item, Table
from isolane.errors import ConditionFailed
from isolane.permits import Permits
from isolane.vectors import Vectors

# The clauses of the conditions, each with the race that it closes.

NOT_ASKED_AGAIN = "#asked = :asked"
"""Vectors that came while the others were being merged: their request must not be forgotten with the first one."""

_PARTITION = "compactions"
_AT_ONCE = 100
LEASE_S = 45.0
"""As long as the sweeper may run."""


@dataclass(frozen=True, kw_only=True)
class Compactions:
    """All requests of a deployment, in one table (State)."""

    table: Table
    vectors: Vectors
    permits: Permits

    def ask(self, owner: str) -> None:
        """Has the owner's vectors merged within some minutes."""
        self.table.put({**_key(owner), "asked": uuid4().hex})

    def asked(self) -> Iterator[Item]:
        """Every request that there is now."""
        after: Any = None
        while True:
            page = self.table.query("#pk = :pk", values={"pk": _PARTITION}, limit=_AT_ONCE, after=after)
            yield from page.items
            after = page.after
            if after is None:
                return

    def perform(self, request: Item) -> int:
        """Merges what is to be merged, and says how many rows fewer there are. Raises Contended where another does."""
        owner = str(request["sk"])
        with at_most(self.permits, 1, name=f"compaction#{owner}", lease_s=LEASE_S, wait_s=0.0):
            fewer = self.vectors.compact(owner)
        with suppress(ConditionFailed):
            self.table.delete(_key(owner), when=NOT_ASKED_AGAIN, values={"asked": request["asked"]})
        return fewer


def _key(owner: str) -> dict[str, str]:
    return {"pk": _PARTITION, "sk": owner}
