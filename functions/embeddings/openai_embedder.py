"""Any endpoint that speaks OpenAI's embeddings: all texts in one request, and what its answer means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from embeddings.embedders import Embedded, TextRejected, checked
from isolane import http
from isolane.deadline import Deadline
from isolane.errors import InvalidJson, InvalidRequest, OutgoingError
from isolane.json_edge import parse_object
from isolane.json_endpoint import JsonEndpoint
from isolane.model_errors import (
    InputTooLong,
    ModelBusy,
    ModelError,
    ModelNotAsked,
    ModelRefused,
    ModelRejected,
    ReplyUnreadable,
)
from isolane.openai_endpoint import failure, rejected
from isolane.provider_words import utc_now

MAX_BYTES = 4_194_304
"""Ten vectors of 3,072 numbers, written out at length, are less than one MiB."""
_ABOUT_THE_TEXT = {400, 413, 422}


@dataclass(frozen=True, kw_only=True)
class OpenAiEmbedder:
    """One model at one endpoint."""

    base_url: str
    """Up to and with the version: https://api.openai.com/v1."""
    model: str
    key: str = field(repr=False)
    """Sent as a bearer token; "" for an endpoint that wants none."""
    dimensions: int
    """Asked for, and held to; 0: neither."""
    timeout_s: float
    may_ask: Callable[[], None] = field(default=lambda: None, repr=False)
    """Called before each request. Raises ModelNotAsked where none may be made now."""
    now: Callable[[], datetime] = field(default=utc_now, repr=False)
    is_remote: bool = True

    @property
    def name(self) -> str:
        return f"openai:{self.model}"

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        """One request for all; where the endpoint does not accept it for one of the texts, one more for each half."""
        try:
            return self._ask(texts, deadline=deadline)
        except (InputTooLong, ModelRefused, TextRejected) as error:
            if len(texts) == 1:
                return [error]
            middle = len(texts) // 2
            halves = texts[:middle], texts[middle:]
            return [found for half in halves for found in self.embed(half, deadline=deadline)]
        except ModelError as error:
            return [error] * len(texts)
        except OutgoingError as error:
            kind = ModelBusy if error.retryable else ModelRejected
            return [kind(f"The model did not answer: {error.message}", requests=1)] * len(texts)

    def _ask(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        if deadline.expired:
            raise ModelNotAsked("There was no time left to ask the model.")
        self.may_ask()
        reply = self._endpoint.post("embeddings", self._question(texts), deadline=deadline)
        return vectors_of(reply, count=len(texts), dimensions=self.dimensions, now=self.now())

    @property
    def _endpoint(self) -> JsonEndpoint:
        return JsonEndpoint(base_url=self.base_url, key=self.key, timeout_s=self.timeout_s, max_bytes=MAX_BYTES)

    def _question(self, texts: Sequence[str]) -> Any:
        wanted = {"dimensions": self.dimensions} if self.dimensions else {}
        return {"model": self.model, "input": list(texts), "encoding_format": "float", **wanted}


def vectors_of(reply: http.Reply, *, count: int, dimensions: int, now: datetime) -> list[Embedded]:
    """The vectors in a reply, matched by the index that each carries: their order is nobody's promise.

    Raises a ModelError for an answer that is none, and for one with another number of vectors, or with an index twice:
    which text's vector is missing there, nobody can tell.
    """
    if not 200 <= reply.status < 300:
        raise _failure(reply, now=now)
    try:
        entries: Any = parse_object(reply.body, max_bytes=MAX_BYTES)["data"]
        found = {entry["index"]: entry["embedding"] for entry in entries if type(entry["index"]) is int}
    except (InvalidJson, InvalidRequest, KeyError, TypeError):
        raise ReplyUnreadable("The model's answer is no list of vectors.", requests=1) from None
    if len(entries) != count or set(found) != set(range(count)):
        raise ReplyUnreadable("The model's answer does not have one vector for each text.", requests=1)
    return _alike([checked(found[index], dimensions=dimensions) for index in range(count)])


def _alike(vectors: list[Embedded]) -> list[Embedded]:
    """The vectors, unless they differ in their dimensions: then none of them can be trusted."""
    if len({len(vector) for vector in vectors if not isinstance(vector, ModelError)}) > 1:
        raise ReplyUnreadable("The model's vectors do not all have the same dimensions.", requests=1)
    return vectors


def _failure(reply: http.Reply, *, now: datetime) -> ModelError:
    """What went wrong; here a status may be about one of the texts."""
    error = failure(reply, now=now, max_bytes=MAX_BYTES, rejected=_rejected)
    if isinstance(error, ModelRefused):
        error = ModelRefused("The model's provider declined to embed this text.")
    error.requests = 1
    return error


def _rejected(status: int) -> ModelError:
    if status in _ABOUT_THE_TEXT:
        return TextRejected(f"The model's provider does not accept this text (status {status}).")
    return rejected(status)
