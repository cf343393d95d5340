"""Who can make a vector of a text: the n-grams that need nothing, and models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from embeddings import ngrams
from embeddings.gate import Gate
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError
from isolane.model_errors import ModelError, ModelRejected, ReplyUnreadable
from isolane.model_rate import may_ask
from isolane.similarity import Vector, unit

if TYPE_CHECKING:
    from isolane.bindings import Bindings
    from isolane.settings import Settings

_NAME = re.compile(r"builtin|(openai|bedrock):[^,\s]+")

Embedded: TypeAlias = "Vector | ModelError"
"""What became of one text: its vector, or why it has none."""


class Embedder(Protocol):
    """Whoever makes vectors."""

    @property
    def name(self) -> str:
        """The name that goes with its vectors: only those of one name can be compared."""

    @property
    def is_remote(self) -> bool:
        """Whether it is somebody else's, who has to be asked sparingly: then the cache is asked first."""

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        """One result for each text, in their order. A text that cannot be embedded leaves the others alone."""


class TextRejected(ModelRejected):
    """The model's provider does not accept this text."""


@dataclass(frozen=True)
class BuiltinEmbedder:
    """Hashed n-grams of characters. It is not a model, and it always answers."""

    name: str = ngrams.NAME
    is_remote: bool = False

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:  # noqa: ARG002 - it answers at once
        """The texts' vectors, without a request."""
        return [checked(ngrams.embed(text), dimensions=ngrams.DIMENSIONS) for text in texts]


def checked(values: Any, *, dimensions: int) -> Embedded:
    """A model's numbers as a vector of length 1; of so many dimensions, where that is not 0.

    ReplyUnreadable for everything else: what is not finite, all zero, of another length, or no list of numbers.
    """
    if not isinstance(values, list) or not values or not all(type(value) in {int, float} for value in values):
        return ReplyUnreadable("The model's vector is no list of numbers.", requests=1)
    if dimensions and len(values) != dimensions:
        return ReplyUnreadable("The model's vector does not have the dimensions that were asked for.", requests=1)
    vector = unit(values)
    return vector if vector is not None else ReplyUnreadable("The model's vector is not finite, or zero.", requests=1)


def check(settings: Settings) -> None:
    """Raises ConfigurationError for settings with which nothing could ever be embedded."""
    if _NAME.fullmatch(settings.embedder) is None:
        raise ConfigurationError("Embedder is builtin, openai:MODEL or bedrock:MODEL.")
    if settings.embedder.startswith("openai:") and not settings.openai_base_url:
        raise ConfigurationError("Embedder names openai:…, which needs a base URL (OpenAiBaseUrl, OPENAI_BASE_URL).")


def build(app: Bindings) -> Embedder:
    """The embedder that the settings name, with all that stands before it. Raises ConfigurationError."""
    settings = app.settings
    check(settings)
    kind, _, model = settings.embedder.partition(":")
    if kind == "builtin":
        return BuiltinEmbedder()
    return Gate(
        _openai(app, model) if kind == "openai" else _titan(app, model),
        breaker=app.breaker,
        permits=app.permits,
        limit=settings.embed_concurrency,
    )


def _openai(app: Bindings, model: str) -> Embedder:
    from embeddings.openai_embedder import OpenAiEmbedder  # noqa: PLC0415 - only where it is named

    return OpenAiEmbedder(
        base_url=app.settings.openai_base_url,
        model=model,
        key=app.openai_key,
        dimensions=app.settings.embed_dimensions,
        timeout_s=app.settings.model_timeout_s,
        may_ask=may_ask(f"openai:{model}", rate=app.model_rate),
    )


def _titan(app: Bindings, model: str) -> Embedder:
    from embeddings.titan_embedder import TitanEmbedder  # noqa: PLC0415 - only where it is named

    return TitanEmbedder(
        models=app.models,
        model=model,
        dimensions=app.settings.embed_dimensions,
        timeout_s=app.settings.model_timeout_s,
        may_ask=may_ask(f"bedrock:{model}", rate=app.model_rate),
    )
