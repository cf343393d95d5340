"""An index of Amazon S3 Vectors: vectors by key, each with what is to be known of it, and the nearest among some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isolane.aws.failures import in_our_words

MOST_READ = 100
MOST_WRITTEN = 500
MOST_FOUND = 100


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """A vector as it lies there."""

    key: str
    numbers: Sequence[float]
    facts: Mapping[str, Any]
    """What is known of it: texts and numbers by name, by which a search can be narrowed."""


@dataclass(frozen=True, kw_only=True)
class Near:
    """One that was found."""

    facts: Mapping[str, Any]
    distance: float
    """By the index's own measure."""


@dataclass(frozen=True)
class VectorIndex:
    """One index, by its ARN. Every method is one call to S3 Vectors."""

    client: Any
    """boto3's client for s3vectors, for which there are no types yet."""
    arn: str

    def facts(self, keys: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """What is known of those that are there, by key; at most 100."""
        with in_our_words():
            answer = self.client.get_vectors(indexArn=self.arn, keys=list(keys), returnMetadata=True)
        return {found["key"]: found["metadata"] for found in answer["vectors"]}

    def put(self, vectors: Sequence[Indexed]) -> None:
        """Writes vectors over whatever has their keys; at most 500."""
        entries = [{"key": it.key, "data": {"float32": list(it.numbers)}, "metadata": dict(it.facts)} for it in vectors]
        with in_our_words():
            self.client.put_vectors(indexArn=self.arn, vectors=entries)

    def nearest(self, numbers: Sequence[float], *, among: Mapping[str, str], limit: int) -> list[Near]:
        """The nearest, the nearest first, of those that are so; at most 100."""
        with in_our_words():
            answer = self.client.query_vectors(
                indexArn=self.arn,
                queryVector={"float32": list(numbers)},
                topK=limit,
                filter={"$and": [{name: {"$eq": value}} for name, value in among.items()]},
                returnMetadata=True,
                returnDistance=True,
            )
        return [Near(facts=found["metadata"], distance=found["distance"]) for found in answer["vectors"]]
