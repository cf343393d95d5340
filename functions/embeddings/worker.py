"""The worker behind the embed queue: ten documents, one read of the cache, one call to the model, one block of vectors.

A batch is handled whole, and settled document by document: one that cannot be embedded leaves its neighbours alone.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from embeddings import embedders
from embeddings.embedders import Embedded, Embedder
from embeddings.fates import Deferred, Failed, GivenUp, TriedAgain, fate
from embeddings.vectorizer import Vectorizer
from isolane import backoff
from isolane.batches import Batch
from isolane.bindings import Bindings
from isolane.blocks import Entry
from isolane.consumer import Consumer, Message, guarded
from isolane.deadline import Deadline
from isolane.documents import Document
from isolane.errors import InvalidRequest
from isolane.model_errors import ModelError
from isolane.observability import count, duration, invocation, logger
from isolane.similarity import Vector
from isolane.task import Problem

_AROUND_S = 2.0
"""What a batch needs besides its call: the cache, the vectors and the marks."""
_LONGEST_DELAY_S = 900
"""What SQS allows."""
_LATE = Problem(code="timed_out", message="The document was not embedded within a day.")


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A message with the document in it."""

    message: Message
    document: Document


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A letter whose document came to an end: with a vector, or with a problem."""

    letter: Letter
    end: Vector | Problem

    @property
    def document(self) -> Document:
        return self.letter.document


class Worker:
    """Embeds a batch of documents at a time."""

    def __init__(self, app: Bindings, *, embedder: Embedder) -> None:
        self._app = app
        self._model = embedder.name
        self._vectorizer = Vectorizer(
            embedder=embedder,
            values=app.values,
            cache_s=app.settings.cache_s,
            dimensions=app.settings.embed_dimensions,
        )
        self._consumer = Consumer(
            queue=app.embed_queue,
            dead_letters=app.embed_dead_letters,
            needs_s=app.settings.model_timeout_s + _AROUND_S if embedder.is_remote else _AROUND_S,
        )

    def consume(self, event: dict[str, Any], *, deadline: Deadline) -> dict[str, Any]:
        """Embeds a batch, and says which of its messages are to come again."""
        return self._consumer.consume_together(event, lambda it: self._work(it, deadline=deadline), deadline=deadline)

    def _work(self, messages: Sequence[Message], *, deadline: Deadline) -> None:
        letters = list(self._opened(messages))
        late = [letter for letter in letters if letter.document.overdue(self._app.batches.now_ms())]
        in_time = [letter for letter in letters if letter not in late]
        settled = [Settled(letter=letter, end=_LATE) for letter in late]
        settled += self._embed(in_time, deadline=deadline) if in_time else []
        for _, of_owner in _grouped(settled, key=lambda it: it.document.owner):
            with guarded(*(it.letter.message for it in of_owner)):
                self._keep(of_owner)

    def _opened(self, messages: Iterable[Message]) -> Iterator[Letter]:
        for message in messages:
            with guarded(message):
                try:
                    yield Letter(message=message, document=Document.from_body(message.body))
                except InvalidRequest as refusal:
                    message.dead_letter(refusal.code)

    def _embed(self, letters: Sequence[Letter], *, deadline: Deadline) -> list[Settled]:
        """Those that came to an end. The others are put off, tried again or put aside."""
        started_s = time.monotonic()
        texts = [(letter.document.owner, letter.document.text) for letter in letters]
        mine = deadline.within(max(0.0, deadline.left_s() - _AROUND_S))
        found = self._vectorizer.vectors(texts, deadline=mine)
        run_s = time.monotonic() - started_s
        settled = list(self._settled(letters, found, deadline=deadline))
        if any(not isinstance(it.end, Problem) for it in settled):  # what was put off says nothing of the pace
            duration("embed_run_time", milliseconds=run_s * 1000)
            self._app.embed_backlog.worked(run_s)
        return settled

    def _settled(
        self, letters: Sequence[Letter], found: Sequence[Embedded], *, deadline: Deadline
    ) -> Iterator[Settled]:
        again: list[tuple[Letter, TriedAgain]] = []
        for letter, result in zip(letters, found, strict=True):
            if not isinstance(result, ModelError):
                yield Settled(letter=letter, end=result)
                continue
            outcome = fate(letter.document, result, max_attempts=self._app.settings.max_attempts)
            logger().warning("not embedded", extra={"error": result.code, "fate": type(outcome).__name__})
            match outcome:
                case Failed(problem=problem):
                    yield Settled(letter=letter, end=problem)
                case TriedAgain():
                    again.append((letter, outcome))
                case Deferred(after_s=after_s):
                    with guarded(letter.message):
                        letter.message.retry(delay_seconds=backoff.not_before(after_s))
                case GivenUp(reason=reason):  # and marked as failed by who buries it
                    with guarded(letter.message):
                        letter.message.dead_letter(reason)
        with guarded(*(letter.message for letter, _ in again)):
            self._try_again(again, deadline=deadline)

    def _try_again(self, again: Sequence[tuple[Letter, TriedAgain]], *, deadline: Deadline) -> None:
        """Sends each as a new message, which says which attempt it is; then the old one may go."""
        if not again:
            return
        delay_s = max(max(it.after_s, backoff.after_attempt(letter.document.attempt)) for letter, it in again)
        bodies = [letter.document.again().as_body() for letter, _ in again]
        delay_s = min(round(delay_s), _LONGEST_DELAY_S)
        left_out = set(self._app.embed_queue.send_many(bodies, deadline=deadline, delay_s=delay_s))
        for position, (letter, _) in enumerate(again):
            with guarded(letter.message):
                letter.message.retry(delay_seconds=delay_s) if position in left_out else letter.message.ack()

    def _keep(self, settled: Sequence[Settled]) -> None:
        """Writes one owner's vectors, then marks their documents, then lets their messages go: in this order."""
        self._add([it for it in settled if not isinstance(it.end, Problem)])
        for batch_id, of_batch in _grouped(settled, key=lambda it: it.document.batch_id):
            with guarded(*(it.letter.message for it in of_batch)):
                batch = self._mark(batch_id, of_batch)
                if batch is not None and batch.finished and not self._app.settings.vector_index_arn:
                    self._app.compactions.ask(batch.owner)
                for it in of_batch:
                    it.letter.message.ack()

    def _add(self, embedded: Sequence[Settled]) -> None:
        if not embedded:
            return
        entries = {
            (it.document.document_id, it.document.version): it.end for it in embedded if not isinstance(it.end, Problem)
        }
        self._app.vectors.add(
            embedded[0].document.owner,
            [Entry(document_id=name, version=version, vector=vector) for (name, version), vector in entries.items()],
            model=self._model,
            places=[(it.document.batch_id, it.document.index) for it in embedded],
        )

    def _mark(self, batch_id: str, settled: Sequence[Settled]) -> Batch | None:
        problems = {
            it.document.index: (it.document.document_id, it.end) for it in settled if isinstance(it.end, Problem)
        }
        done = frozenset(it.document.index for it in settled if not isinstance(it.end, Problem))
        for name, amount in (("embedded", len(done)), ("embedding_failed", len(problems))):
            if amount:
                count(name, amount=amount)
        return self._app.batches.mark(batch_id, done=done, problems=problems)


def _grouped(settled: Iterable[Settled], *, key: Callable[[Settled], str]) -> list[tuple[str, list[Settled]]]:
    return [(name, list(some)) for name, some in groupby(sorted(settled, key=key), key=key)]


def build(app: Bindings, *, embedder: Embedder | None = None) -> Worker:
    """The worker, with the embedder that the settings name, or another. Raises ConfigurationError."""
    return Worker(app, embedder=embedder if embedder is not None else embedders.build(app))


@functools.cache
def _worker() -> Worker:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    with invocation(entry="queue", context=context):
        deadline = Deadline.after(context.get_remaining_time_in_millis() / 1000)
        return _worker().consume(event, deadline=deadline)
