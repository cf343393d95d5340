"""Vectors of documents by owner in Amazon S3 Vectors: for more of them than can be searched one by one.

The same calls as `vectors`. The search is approximate, and the index (its measure the cosine, its dimension the
embedder's) is made by hand. A vector's key is its owner and document, so that a newer version lies over an older one;
S3 Vectors writes under no condition, so that who adds vectors of an owner does so alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isolane.at_most import at_most
from isolane.aws.vector_index import Indexed, VectorIndex
from isolane.blocks import Entry
from isolane.permits import Permits
from isolane.similarity import Vector
from isolane.vectors import Match

_LEASE_S = 20.0
_WAIT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class IndexedVectors:
    """All vectors of a deployment, in one index."""

    index: VectorIndex
    permits: Permits

    def add(
        self,
        owner: str,
        entries: Sequence[Entry],
        *,
        model: str,
        places: Iterable[tuple[str, int]],  # noqa: ARG002 - a vector has its place from its document
    ) -> None:
        """Puts vectors there, but for those of which a newer version is there. Raises Contended and Unavailable."""
        keyed = {_key(owner, entry.document_id): entry for entry in sorted(entries, key=lambda it: it.version)}
        # Two batches with one document: what is read must still be so when it is written over.
        with at_most(self.permits, 1, name=f"vectors#{owner}", lease_s=_LEASE_S, wait_s=_WAIT_S):
            there = self.index.facts(list(keyed))
            newer = [
                Indexed(key=key, numbers=entry.vector, facts=_facts(owner, entry, model=model))
                for key, entry in keyed.items()
                if key not in there or _version(there[key]) <= entry.version
            ]
            if newer:
                self.index.put(newer)

    def nearest(self, owner: str, query: Vector, *, model: str, limit: int) -> list[Match]:
        """The owner's documents that are nearest to a vector by this model, the nearest first."""
        found = self.index.nearest(query, among={"owner": owner, "model": model}, limit=limit)
        return [Match(document_id=str(it.facts["id"]), similarity=1.0 - it.distance) for it in found]

    def any_of(self, owner: str) -> bool:  # noqa: ARG002 - only a search can tell
        """True: to know better would cost what a search costs."""
        return True


def _key(owner: str, document_id: str) -> str:
    """One for each owner and document, of a length that every key may have."""
    return hashlib.sha256(f"{len(owner)}:{owner}:{document_id}".encode()).hexdigest()


def _facts(owner: str, entry: Entry, *, model: str) -> dict[str, Any]:
    at_ms, batch_id = entry.version
    return {"owner": owner, "model": model, "id": entry.document_id, "at_ms": at_ms, "batch_id": batch_id}


def _version(facts: Any) -> tuple[int, str]:
    return (int(facts["at_ms"]), str(facts["batch_id"]))
