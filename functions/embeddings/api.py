"""`POST /api/embed/batch`, how far a batch is, and `POST /api/embed/search`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from embeddings import embedders
from embeddings.embedders import Embedder
from embeddings.gate import Gate
from embeddings.requests import Order, order_of, query_of
from embeddings.vectorizer import Vectorizer
from isolane.api import Answer, Api, Request
from isolane.batches import Batch
from isolane.bindings import Bindings
from isolane.documents import Document
from isolane.errors import IdempotencyMismatch, InvalidRequest, NotFound, Overloaded, Unavailable
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused
from isolane.observability import count, logger
from isolane.serving import serving
from isolane.similarity import Vector
from isolane.submissions import id_of
from isolane.task import Problem

_PERMIT_WAIT_S = 3.0
"""How long a search waits for the model: somebody waits for the search."""
_SEARCH_S = 20.0
_SENDING_S = 20.0
_COME_BACK_S = 2
_NOT_QUEUED = Problem(code="not_queued", message="The queue did not take this document; hand it in again.")


class Embeddings:
    """The handlers, over the parts that they need."""

    def __init__(self, app: Bindings, *, embedder: Embedder) -> None:
        self._app = app
        self._model = embedder.name
        self._vectorizer = Vectorizer(
            embedder=dataclasses.replace(embedder, wait_s=_PERMIT_WAIT_S) if isinstance(embedder, Gate) else embedder,
            values=app.values,
            cache_s=app.settings.cache_s,
            dimensions=app.settings.embed_dimensions,
        )

    def submit(self, request: Request) -> Answer:
        order = order_of(request.json_object())
        owner, key = request.caller.name, request.headers.get("idempotency-key")
        self._app.embed_backlog.admit()
        estimated_s = self._estimated_s(len(order.documents))  # now: once they are sent, they are what waits, too
        batch = self._app.batches.add(
            id_of(owner=owner, idempotency_key=key),
            owner=owner,
            fingerprint=order.fingerprint,
            total=len(order.documents),
        )
        if batch.fingerprint != order.fingerprint:
            raise IdempotencyMismatch
        if batch.queued is not None:
            replayed = {"Idempotent-Replayed": "true"}
            return _taken(batch.batch_id, queued=batch.queued, estimated_s=estimated_s, headers=replayed)
        queued = self._queue(batch, order, request=request)
        return _taken(batch.batch_id, queued=queued, estimated_s=estimated_s, headers={})

    def _queue(self, batch: Batch, order: Order, *, request: Request) -> int:
        """How many documents went into the queue; the others are told as failed. Raises Unavailable where none did."""
        documents = [
            Document(
                batch_id=batch.batch_id,
                index=index,
                owner=batch.owner,
                document_id=document_id,
                text=text,
                at_ms=batch.created_at_ms,
            )
            for index, (document_id, text) in enumerate(order.documents)
        ]
        bodies = [document.as_body() for document in documents]
        left_out = self._app.embed_queue.send_many(bodies, deadline=request.deadline.within(_SENDING_S))
        if len(left_out) == len(documents):
            raise Unavailable
        problems = {index: (documents[index].document_id, _NOT_QUEUED) for index in left_out}
        queued = len(documents) - len(left_out)
        self._app.batches.told(batch.batch_id, queued=queued, problems=problems)
        count("embed_queued", amount=queued)
        logger().info("queued", extra={"batch_id": batch.batch_id, "queued": queued, "left_out": len(left_out)})
        return queued

    def _estimated_s(self, more: int) -> int:
        """Seconds until all are done, by the rate that was last measured; before any was, the most that it may take."""
        settings = self._app.settings
        measured_s = self._app.embed_backlog.wait_s(more=more)
        if measured_s is None:
            calls = math.ceil(more / settings.embed_batch_size)
            measured_s = math.ceil(calls / settings.embed_concurrency) * settings.model_timeout_s
        return max(1, math.ceil(measured_s))

    def batch(self, request: Request, *, batch_id: str) -> Answer:
        found = self._app.batches.find(batch_id, owner=request.caller.name)
        if found is None:
            raise NotFound("There is no such batch.", code="batch_not_found")
        return Answer(body=_as_json(found))

    def search(self, request: Request) -> Answer:
        query = query_of(request.json_object())
        owner = request.caller.name
        if not self._app.vectors.any_of(owner):
            return Answer(body={"matches": []})
        (found,) = self._vectorizer.vectors([(owner, query.text)], deadline=request.deadline.within(_SEARCH_S))
        matches = self._app.vectors.nearest(owner, _vector(found), model=self._model, limit=query.limit)
        return Answer(
            body={"matches": [{"id": it.document_id, "similarity": _rounded(it.similarity)} for it in matches]}
        )


def _taken(batch_id: str, *, queued: int, estimated_s: int, headers: Mapping[str, str]) -> Answer:
    return Answer(
        status=202,
        body={
            "batchId": batch_id,
            "message": f"{queued} tasks queued",
            "queued": queued,
            "estimatedTime": estimated_s,
        },
        headers={"Location": f"batches/{batch_id}", **headers},
    )


def _as_json(batch: Batch) -> dict[str, Any]:
    completed, failed = len(batch.done), len(batch.failed)
    return {
        "total": batch.total,
        "completed": completed,
        "failed": failed,
        "progress": 100 * (completed + failed) // batch.total,
        "errors": [
            {"id": document_id, "code": problem.code, "message": problem.message}
            for document_id, problem in batch.failed.values()
        ],
    }


def _vector(found: Vector | ModelError) -> Vector:
    """The vector to search for. Raises the answer for a text that has none."""
    match found:
        case ModelBusy(retry_after_s=after_s):
            raise Overloaded(retry_after_s=max(_COME_BACK_S, math.ceil(after_s or 0)))
        case InputTooLong() | ModelRefused() | embedders.TextRejected():
            raise InvalidRequest(found.message, code="text_refused")
        case ModelError():
            logger().error("a search has no vector", extra={"error": found.code})
            raise Unavailable
    return found


def _rounded(similarity: float) -> float:
    """What float32 can tell apart; a text is as near to itself as can be."""
    return round(min(1.0, max(-1.0, similarity)), 6)


def build(app: Bindings, *, embedder: Embedder | None = None) -> Api:
    """The routes of this function, with the embedder that the settings name, or another. Raises ConfigurationError."""
    embeddings = Embeddings(app, embedder=embedder if embedder is not None else embedders.build(app))
    api = Api(callers=app.callers, posts=app.posts)
    api.route("POST", "/api/embed/batch", embeddings.submit)
    api.route("GET", "/api/embed/batches/<batch_id>", embeddings.batch)
    api.route("POST", "/api/embed/search", embeddings.search)
    return api


handler = serving(build)
"""What Lambda calls."""
