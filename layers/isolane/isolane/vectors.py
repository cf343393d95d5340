"""Vectors of documents by owner: put them there, and find the nearest. Exact, for up to 10,000 documents of one owner.

    vectors.add("ann", [Entry(...)], model="openai:text-embedding-3-small", places=[(batch_id, 0)])
    vectors.nearest("ann", query, model="openai:text-embedding-3-small", limit=10)

They lie in State, in blocks under their owner. A search reads all blocks of one owner, and nothing else in this project
costs more the more there is; small blocks are merged now and then, by one for each owner at a time (`compact`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from isolane.aws.table import Table
from isolane.aws.transaction import Delete, Put, Update, transact
from isolane.blocks import BLOCK, Block, Entry, Merge, from_row, key_of, live, merges, newest, to_row
from isolane.errors import Conflict, Contended, TransactionRefused
from isolane.similarity import Vector, similarity

# The clauses of the conditions, each with the race that it closes.

SAME_GENERATION = "#generation = :seen"
"""A compactor that outlived its lease: it has seen what was before another's merge, would merge the same blocks into a
second one, or drop a document for a copy that is not there any more. And a search must learn of every merge."""
FIRST_GENERATION = "attribute_not_exists(#generation)"
"""The same, for the first to merge blocks of this owner."""

MOST_DOCUMENTS = 10_000
_GENERATION = "generation"
_BLOCKS_A_PAGE = 1_000
_MOST_READS = 3
"""How often a search begins anew because blocks were merged under its eyes."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """A document that was found."""

    document_id: str
    similarity: float


@dataclass(frozen=True)
class Vectors:
    """All vectors of a deployment, in one table (State)."""

    table: Table

    def add(self, owner: str, entries: Sequence[Entry], *, model: str, places: Iterable[tuple[str, int]]) -> None:
        """Puts vectors there as one block (for each dimension, of which there is one, but for a change of settings).

        The same places again overwrite it.
        """
        places = list(places)
        for dimension in sorted({len(entry.vector) for entry in entries}):
            of_it = tuple(entry for entry in entries if len(entry.vector) == dimension)
            block = Block(key=key_of(places, dimension=dimension), model=model, entries=of_it)
            self.table.put({"pk": _partition(owner), **to_row(block)})

    def nearest(self, owner: str, query: Vector, *, model: str, limit: int) -> list[Match]:
        """The owner's documents that are nearest to a vector by this model, the nearest first.

        Raises Conflict `too_many_documents` where the owner has more than can be searched exactly, and Contended.
        """
        blocks = [block for block in self._blocks_at_rest(owner) if block.model == model]
        among = newest(blocks)
        if len(among) > MOST_DOCUMENTS:
            raise Conflict("There are too many documents for an exact search.", code="too_many_documents")
        entries = (entry for block in blocks for entry in live(block, among=among))
        comparable = (entry for entry in entries if len(entry.vector) == len(query))
        wanted = list(query)
        found = (Match(document_id=it.document_id, similarity=similarity(wanted, it.vector)) for it in comparable)
        return heapq.nsmallest(limit, found, key=lambda it: (-it.similarity, it.document_id))

    def any_of(self, owner: str) -> bool:
        """Whether the owner has any vector."""
        return bool(self._page(owner, limit=1, after=None).items)

    def compact(self, owner: str) -> int:
        """Merges small blocks; says how many rows fewer there are. Twice at once loses nothing, and does it once.

        Raises Contended where another is at it.
        """
        generation = self._generation(owner)
        blocks = list(self._blocks(owner))
        fewer = 0
        for merge in merges(blocks):
            self._carry_out(owner, merge, generation=generation)
            generation += 1
            fewer += len(merge.sources) - bool(merge.entries)
        return fewer

    def _carry_out(self, owner: str, merge: Merge, *, generation: int) -> None:
        pk = _partition(owner)
        merged = Block(key=f"{BLOCK}{uuid4().hex}", model=merge.model, entries=merge.entries)
        try:
            transact(
                [
                    Update(
                        self.table,
                        _generation_key(owner),
                        "SET #generation = :next",
                        when=SAME_GENERATION if generation else FIRST_GENERATION,
                        values={"next": generation + 1, "seen": generation},
                    ),
                    *([Put(self.table, {"pk": pk, **to_row(merged)})] if merge.entries else []),
                    *(Delete(self.table, {"pk": pk, "sk": key}) for key in merge.sources),
                ]
            )
        except TransactionRefused as refusal:
            raise Contended from refusal

    def _blocks_at_rest(self, owner: str) -> list[Block]:
        """All blocks, as they were at one time: a page that is read after a merge may lack what an earlier one had."""
        generation = self._generation(owner)
        for _ in range(_MOST_READS):
            blocks, seen = list(self._blocks(owner)), generation
            generation = self._generation(owner)
            if generation == seen:
                return blocks
        raise Contended

    def _blocks(self, owner: str) -> Iterator[Block]:
        after = None
        while True:
            page = self._page(owner, limit=_BLOCKS_A_PAGE, after=after)
            yield from map(from_row, page.items)
            after = page.after
            if after is None:
                return

    def _page(self, owner: str, *, limit: int, after: Any) -> Any:
        return self.table.query(
            "#pk = :pk AND begins_with(#sk, :block)",
            values={"pk": _partition(owner), "block": BLOCK},
            limit=limit,
            after=after,
        )

    def _generation(self, owner: str) -> int:
        """How often blocks of this owner have been merged."""
        row = self.table.get(_generation_key(owner))
        return int(row["generation"]) if row is not None else 0


def _partition(owner: str) -> str:
    return f"vectors#{owner}"


def _generation_key(owner: str) -> dict[str, str]:
    return {"pk": f"vectors#{owner}", "sk": _GENERATION}
