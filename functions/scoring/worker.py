"""The worker behind the score queue: each message's text is scored, and its task completed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from isolane.bindings import Bindings
from isolane.consumer import Consumer, Message
from isolane.deadline import Deadline
from isolane.delivery import Deferral, Deliveries, Delivery
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ReplyUnreadable
from isolane.observability import invocation, logger
from isolane.task import Problem, Status, Task, text_name
from scoring import observed
from scoring.admission import Guards
from scoring.cache import FALLBACK_S, cache_key
from scoring.chain import Scored, parse_chain, score_with_chain
from scoring.chain import build as build_chain
from scoring.review import reason_for_review
from scoring.scorers import Scorer

_STARTING_S = 1.5
"""What a message needs besides its model call: to be claimed, completed and cached."""


class Worker:
    """Scores one message at a time; several of them may do so side by side."""

    def __init__(self, app: Bindings, *, scorers: tuple[Scorer, ...], sleep: Callable[[float], None]) -> None:
        self._app = app
        self._scorers = scorers
        self._guards = Guards(breaker=app.breaker, permits=app.permits, limit=app.settings.model_concurrency)
        self._deliveries = Deliveries(
            tasks=app.tasks,
            max_attempts=app.settings.max_attempts,
            sleep=sleep,
            keep=lambda job: app.payloads.keep(job.fields, key=text_name(job.task_id, job.nonce)),
        )
        self._consumer = Consumer(
            queue=app.score_queue,
            dead_letters=app.score_dead_letters,
            pool_size=app.settings.pool_size,
            needs_s=app.settings.model_timeout_s + _STARTING_S,
        )

    def consume(self, event: dict[str, Any], *, deadline: Deadline) -> dict[str, Any]:
        """Scores a batch, and says which of its messages are to come again."""

        def admit(deadline: Deadline) -> AbstractContextManager[tuple[Scorer, ...] | Deferral]:
            return self._guards.admitted(self._scorers, deadline=deadline)

        def handle(message: Message) -> None:
            self._deliveries.handle(message, self._work, admit=admit, deadline=deadline)

        return self._consumer.consume(event, handle, deadline=deadline)

    def _work(self, delivery: Delivery, scorers: tuple[Scorer, ...]) -> Task:
        observed.started(delivery.task, now_ms=self._app.tasks.now_ms())
        started_s = time.monotonic()
        text = self._app.payloads.unpack(delivery.job.fields)
        try:
            scored = score_with_chain(text, scorers=scorers, deadline=delivery.deadline)
        except ModelError as error:
            task = _unscored(delivery, error)
        else:
            task = self._scored(delivery, scored, text)
        run_s = time.monotonic() - started_s
        observed.ended(task, run_ms=run_s * 1000)
        self._app.score_backlog.worked(run_s)
        return task

    def _scored(self, delivery: Delivery, scored: Scored, text: str) -> Task:
        reason = reason_for_review(text=text, scored=scored, below=self._app.settings.review_below)
        if reason is not None:
            return delivery.review(reason, provisional=scored.as_result())
        task = delivery.complete(scored.as_result(), model=scored.model)
        if task.status is Status.COMPLETED:
            self._remember(scored, text, owner=task.owner)
        return task

    def _remember(self, scored: Scored, text: str, *, owner: str) -> None:
        settings = self._app.settings
        key = cache_key(text, owner=owner, chain=settings.scorer_chain)
        fallback = scored.model != self._scorers[0].name
        ttl_s = min(settings.cache_s, FALLBACK_S) if fallback else settings.cache_s
        if ttl_s > 0:
            self._app.values.put(key, {"result": scored.as_result(), "model": scored.model}, ttl_s=ttl_s)


def _unscored(delivery: Delivery, error: ModelError) -> Task:
    """What becomes of a task whose text nobody scored: each outcome has one end, and none of them is a score."""
    logger().warning("not scored", extra={"outcome": str(error.outcome), "requests": error.requests})
    problem = Problem(code=error.code, message=error.message)
    match error:
        case ModelBusy(requests=0, retry_after_s=after_s):  # nobody was called: no attempt was made
            return delivery.defer(after_s=after_s)
        case ModelBusy(retry_after_s=after_s):
            return delivery.retry(after_s=after_s or 0.0)
        case ReplyUnreadable():
            return delivery.review(problem)
        case ModelRefused() | InputTooLong():
            return delivery.fail(problem)
        case _:
            return delivery.give_up(problem)


def build(
    app: Bindings, *, scorers: tuple[Scorer, ...] | None = None, sleep: Callable[[float], None] = time.sleep
) -> Worker:
    """The worker, with the scorers that the settings name, or others."""
    return Worker(app, scorers=scorers if scorers is not None else _scorers(app), sleep=sleep)


def _scorers(app: Bindings) -> tuple[Scorer, ...]:
    return build_chain(
        parse_chain(app.settings.scorer_chain),
        settings=app.settings,
        secret=lambda name: app.parameters.secret(name),  # noqa: PLW0108 - makes its client only where a key is asked for
        models=lambda: app.models,
    )


@functools.cache
def _worker() -> Worker:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    with invocation(entry="queue", context=context):
        deadline = Deadline.after(context.get_remaining_time_in_millis() / 1000)
        return _worker().consume(event, deadline=deadline)
