"""Blocks of vectors: how they lie in a row, which document in them is the newest, and which blocks are to be merged.

A block is written once and never changed. Two may hold one document: the newest version counts, and of two that are the
same version (a message delivered twice) either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from isolane.documents import Version
from isolane.similarity import BYTES_PER_NUMBER, Vector, packed, unpacked

FULL_BYTES = 256_000
"""A block that merging has made is at most as large as this; DynamoDB takes 400 KB."""
MOST_MERGED = 90
"""Blocks that one transaction may replace: it has at most 100 writes."""

BLOCK = "block#"
"""Where the sort key of every block begins."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One document's vector."""

    document_id: str
    version: Version
    vector: Vector

    @property
    def size(self) -> int:
        """About how many bytes it takes in a row."""
        return len(self.document_id.encode()) + len(self.version[1]) + 30 + len(self.vector) * BYTES_PER_NUMBER


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some vectors of one owner, all by one model and of one dimension."""

    key: str
    model: str
    entries: tuple[Entry, ...]

    @property
    def dimension(self) -> int:
        return len(self.entries[0].vector)


def key_of(places: Iterable[tuple[str, int]], *, dimension: int) -> str:
    """The key of a block that a worker writes, by the batches and indexes in it: a redelivery writes the same row."""
    text = json.dumps([dimension, *sorted(set(places))])
    return f"{BLOCK}{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def to_row(block: Block) -> dict[str, Any]:
    entries = [[entry.document_id, *entry.version] for entry in block.entries]
    return {
        "sk": block.key,
        "model": block.model,
        "dimension": block.dimension,
        "entries": json.dumps(entries, ensure_ascii=False, separators=(",", ":")),
        "vectors": packed(entry.vector for entry in block.entries),
    }


def from_row(row: Mapping[str, Any]) -> Block:
    vectors = unpacked(row["vectors"], dimension=row["dimension"])
    entries = (
        Entry(document_id=document_id, version=(at_ms, batch_id), vector=vector)
        for (document_id, at_ms, batch_id), vector in zip(json.loads(row["entries"]), vectors, strict=True)
    )
    return Block(key=row["sk"], model=row["model"], entries=tuple(entries))


Newest: TypeAlias = dict[str, tuple[Version, str]]
"""For each document, its newest version and the key of the block that is to keep it."""


def newest(blocks: Sequence[Block]) -> Newest:
    found: Newest = {}
    for block in sorted(blocks, key=lambda it: it.key):
        for entry in block.entries:
            if entry.document_id not in found or found[entry.document_id][0] < entry.version:
                found[entry.document_id] = (entry.version, block.key)
    return found


def live(block: Block, *, among: Newest) -> Iterator[Entry]:
    """The entries of a block that no other block makes superfluous."""
    kept: set[str] = set()
    for entry in block.entries:
        if among[entry.document_id] == (entry.version, block.key) and entry.document_id not in kept:
            kept.add(entry.document_id)
            yield entry


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Blocks to be replaced by one with these entries; by none where nothing in them is of use any more."""

    sources: tuple[str, ...]
    model: str
    entries: tuple[Entry, ...]


def merges(blocks: Sequence[Block], *, full_bytes: int = FULL_BYTES) -> list[Merge]:
    """How to have fewer blocks: those that are less than half full, of what is of use, are put together.

    So what lies there is at most about twice what is of use, and a vector is moved a few times and not for ever.
    """
    among = newest(blocks)
    found: list[Merge] = []
    for kind in sorted({_kind(block) for block in blocks}):
        of_kind = [block for block in sorted(blocks, key=lambda it: it.key) if _kind(block) == kind]
        found += _merges(of_kind, among=among, full_bytes=full_bytes)
    return [merge for merge in found if len(merge.sources) > 1 or not merge.entries]


def _kind(block: Block) -> tuple[str, int]:
    return (block.model, block.dimension)


def _merges(blocks: Iterable[Block], *, among: Newest, full_bytes: int) -> Iterator[Merge]:
    sources: list[str] = []
    entries: list[Entry] = []
    size, model = 0, ""
    for block in blocks:
        mine = list(live(block, among=among))
        bytes_of_use = sum(entry.size for entry in mine)
        if bytes_of_use * 2 >= full_bytes:
            continue
        if sources and (size + bytes_of_use > full_bytes or len(sources) == MOST_MERGED):
            yield Merge(sources=tuple(sources), model=model, entries=tuple(entries))
            sources, entries, size = [], [], 0
        sources.append(block.key)
        entries += mine
        size, model = size + bytes_of_use, block.model
    if sources:
        yield Merge(sources=tuple(sources), model=model, entries=tuple(entries))
