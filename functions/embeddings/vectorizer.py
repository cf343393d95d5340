"""From texts to vectors: those that are known already from the cache, the rest from the embedder, each text once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from embeddings.embedders import Embedded, Embedder
from isolane.deadline import Deadline
from isolane.errors import Contended, Unavailable
from isolane.kv import Values, content_key
from isolane.model_errors import ModelError
from isolane.observability import logger
from isolane.similarity import BYTES_PER_NUMBER, Vector, packed, unpacked

OwnersText: TypeAlias = tuple[str, str]
"""An owner and a text: nobody is answered from what somebody else had embedded."""


@dataclass(frozen=True, kw_only=True)
class Vectorizer:
    """An embedder and the cache before it; one that is not remote needs none."""

    embedder: Embedder
    values: Values
    cache_s: int
    """How long a vector answers for its text again; 0: there is no cache."""
    dimensions: int
    """What the embedder is asked for: part of the key."""

    def vectors(self, texts: Sequence[OwnersText], *, deadline: Deadline) -> list[Embedded]:
        """One result for each text, in their order: one read, one call for all that are new, one write."""
        keys = [self._key(owner, text) for owner, text in texts]
        known: dict[str, Embedded] = {**self._cached(keys)}
        new = {key: text for key, (_, text) in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = self.embedder.embed(list(new.values()), deadline=deadline)
            known.update(zip(new, made, strict=True))
            self._remember({key: known[key] for key in new})
        return [known[key] for key in keys]

    @property
    def _caches(self) -> bool:
        return self.embedder.is_remote and self.cache_s > 0

    def _key(self, owner: str, text: str) -> str:
        return content_key("embedding", owner, self.embedder.name, str(self.dimensions), text)

    def _cached(self, keys: Iterable[str]) -> dict[str, Vector]:
        if not self._caches:
            return {}
        found = self.values.get_many(list(dict.fromkeys(keys)))
        return {key: _from_text(value["vector"]) for key, value in found.items()}

    def _remember(self, made: Mapping[str, Embedded]) -> None:
        """Validated vectors only; whoever needs them has them all the same where they cannot be kept."""
        kept = {key: {"vector": _to_text(it)} for key, it in made.items() if not isinstance(it, ModelError)}
        if not (self._caches and kept):
            return
        try:
            self.values.put_many(kept, ttl_s=self.cache_s)
        except (Unavailable, Contended) as error:
            logger().warning("vectors were not cached", extra={"error": type(error).__name__})


def _to_text(vector: Vector) -> str:
    return base64.b64encode(packed([vector])).decode()


def _from_text(text: Any) -> Vector:
    data = base64.b64decode(text)
    return next(unpacked(data, dimension=len(data) // BYTES_PER_NUMBER))
