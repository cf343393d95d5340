"""Amazon Titan Text Embeddings V2 on Bedrock, which takes one text a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from embeddings.embedders import Embedded, checked
from isolane.aws.models import Models
from isolane.deadline import Deadline
from isolane.errors import OutgoingError
from isolane.json_edge import JsonObject
from isolane.model_errors import ModelBusy, ModelError, ModelNotAsked, ModelRejected

MAX_BYTES = 1_048_576


@dataclass(frozen=True, kw_only=True)
class TitanEmbedder:
    """One model, by its id or an ARN."""

    models: Models
    model: str
    dimensions: int
    """256, 512 or 1,024: asked for, and held to; 0: neither."""
    timeout_s: float
    may_ask: Callable[[], None] = field(default=lambda: None, repr=False)
    """Called before each request. Raises ModelNotAsked where none may be made now."""
    is_remote: bool = True

    @property
    def name(self) -> str:
        return f"bedrock:{self.model}"

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        """One request after another, under the one permit; once it is busy, the rest is not asked for."""
        found: list[Embedded] = []
        for text in texts:
            busy = found[-1] if found and isinstance(found[-1], ModelBusy) else None
            found.append(self._one(text, deadline=deadline) if busy is None else _not_asked(busy))
        return found

    def _one(self, text: str, *, deadline: Deadline) -> Embedded:
        if deadline.expired:
            return ModelNotAsked("There was no time left to ask the model.")
        wanted: JsonObject = {"dimensions": self.dimensions} if self.dimensions else {}
        try:
            self.may_ask()
            answer = self.models.invoke(
                self.model,
                {"inputText": text, "normalize": True, **wanted},
                max_bytes=MAX_BYTES,
                deadline=deadline,
                timeout_s=self.timeout_s,
            )
        except ModelError as error:
            error.requests = 0 if isinstance(error, ModelNotAsked) else 1
            return error
        except OutgoingError as error:
            kind = ModelBusy if error.retryable else ModelRejected
            return kind(f"The model did not answer: {error.message}", requests=1)
        return checked(answer.get("embedding"), dimensions=self.dimensions)


def _not_asked(busy: ModelBusy) -> ModelNotAsked:
    return ModelNotAsked(retry_after_s=busy.retry_after_s)
