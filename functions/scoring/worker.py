"""The worker behind the score queue: each message's text is scored, and its task completed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from isolane.bindings import Bindings
from isolane.consumer import Consumer, Message
from isolane.deadline import Deadline
from isolane.delivery import Deferral, Deliveries, Delivery, Job
from isolane.errors import Contended, Unavailable
from isolane.flight import Flight
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ReplyUnreadable
from isolane.observability import invocation, logger
from isolane.payloads import digest_in
from isolane.submissions import REVIEW
from isolane.task import Problem, Status, Task, text_name
from scoring import observed
from scoring.admission import LEASE_MARGIN_S, Admitted, Board, Guards
from scoring.cache import FALLBACK_S, cache_key, key_of_digest, way_of_scoring
from scoring.chain import Scored, parse_chain
from scoring.chain import build as build_chain
from scoring.kept import KeptScores
from scoring.limits import STARTING_S, check, provider_s
from scoring.parts import LongTextScorer, PartsLeft, Stint
from scoring.policy import score_by, wanted
from scoring.policy_name import Policy
from scoring.progress import Progress
from scoring.review import reason_for_review
from scoring.scorers import Scorer


class Worker:
    """Scores one message at a time; several of them may do so side by side."""

    def __init__(self, app: Bindings, *, scorers: tuple[Scorer, ...], sleep: Callable[[float], None]) -> None:
        self._app = app
        self._scorers = scorers
        self._policy = Policy(app.settings.scorer_policy)
        self._way = way_of_scoring(app.settings)
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
            needs_s=app.settings.model_timeout_s + STARTING_S,
        )

    def consume(self, event: dict[str, Any], *, deadline: Deadline) -> dict[str, Any]:
        """Scores a batch, and says which of its messages are to come again."""

        def handle(message: Message) -> None:
            self._deliveries.handle(message, self._work, admit=self._admit, deadline=deadline)

        return self._consumer.consume(event, handle, deadline=deadline)

    def _admit(self, job: Job, deadline: Deadline) -> AbstractContextManager[Admitted | Deferral]:
        board = self._boarding(job, deadline=deadline)
        return self._guards.admitted(self._scorers, policy=self._policy, board=board, deadline=deadline)

    def _boarding(self, job: Job, *, deadline: Deadline) -> Board | None:
        """How the text's flight is taken; None where its score would not be kept for those who wait."""
        digest, owner = digest_in(job.fields), job.fields.get("owner")
        if digest is None or not isinstance(owner, str) or self._app.settings.cache_s == 0:
            return None
        key = key_of_digest(digest, owner=owner, chain=self._way)
        return lambda: self._app.flights.boarded(key, lease_s=deadline.left_s() + LEASE_MARGIN_S)

    def _work(self, delivery: Delivery, admitted: Admitted) -> Task:
        observed.started(delivery.task, now_ms=self._app.tasks.now_ms())
        started_s = time.monotonic()
        if admitted.landed is not None:
            task = _ended_as_the_other(delivery, admitted.landed.value)
        else:
            task = self._score(delivery, admitted)
        run_s = time.monotonic() - started_s
        observed.ended(task, run_ms=run_s * 1000)
        if task.terminal or task.status is Status.IN_REVIEW:  # what was put off says nothing of the pace
            self._app.score_backlog.worked(run_s)
        return task

    def _score(self, delivery: Delivery, admitted: Admitted) -> Task:
        text = self._app.payloads.unpack(delivery.job.fields)
        stint = self._stint(delivery, admitted)
        kept = self._kept(delivery.task)
        scorers = [LongTextScorer(scorer=scorer, kept=kept, stint=stint) for scorer in admitted.scorers]
        deadline = delivery.deadline.within(provider_s(self._app.settings))
        try:
            scored = score_by(self._policy, text, scorers=scorers, deadline=deadline)
        except ModelError as error:
            return _unscored(delivery, error, moved=stint.finished > 0)
        return self._scored(delivery, scored, text, flight=admitted.flight)

    def _stint(self, delivery: Delivery, admitted: Admitted) -> Stint:
        readers = [scorer for scorer in admitted.scorers if scorer.longest is not None]
        progress = Progress(write=delivery.tell_progress, clock=self._app.tasks.clock)
        return Stint(
            step_s=self._app.settings.model_timeout_s,
            tell=progress.tell,
            passes=len(readers) if self._policy is Policy.AVERAGE else 1,
        )

    def _kept(self, task: Task) -> KeptScores:
        scope = "" if self._app.settings.cache_s > 0 else task.task_id
        return KeptScores(values=self._app.values, owner=task.owner, scope=scope)

    def _scored(self, delivery: Delivery, scored: Scored, text: str, *, flight: Flight | None) -> Task:
        """Where a validated score becomes its task's end."""
        reason = reason_for_review(text=text, scored=scored, below=self._app.settings.review_below)
        if reason is not None:
            task = delivery.review(reason, provisional=scored.as_result())
            if task.status is Status.IN_REVIEW and flight is not None:
                self._remember(scored, text, owner=task.owner, flight=flight, review=reason)
            return task
        task = delivery.complete(scored.as_result(), model=scored.model)
        if task.status is Status.COMPLETED:
            self._remember(scored, text, owner=task.owner, flight=flight)
        return task

    def _remember(
        self, scored: Scored, text: str, *, owner: str, flight: Flight | None, review: Problem | None = None
    ) -> None:
        """Keeps the score for equal texts; one with a `review` only tells those who wait for it to end there, too."""
        settings = self._app.settings
        for_now = review is not None or scored.model != wanted(self._policy, self._scorers)
        ttl_s = min(settings.cache_s, FALLBACK_S) if for_now else settings.cache_s
        value: dict[str, Any] = {"result": scored.as_result(), "model": scored.model}
        if review is not None:
            value[REVIEW] = vars(review)
        try:
            if flight is not None:
                self._app.flights.land(flight, value, ttl_s=ttl_s)
            elif ttl_s > 0:
                self._app.values.put(cache_key(text, owner=owner, chain=self._way), value, ttl_s=ttl_s)
        except (Unavailable, Contended) as error:  # the task is done all the same
            logger().warning("a score was not cached", extra={"error": type(error).__name__})


def _ended_as_the_other(delivery: Delivery, value: Mapping[str, Any]) -> Task:
    """The end that an equal text has come to: its score, or a human who has to see this one as well."""
    if REVIEW in value:
        return delivery.review(Problem(**value[REVIEW]), provisional=value["result"])
    return delivery.complete(value["result"], model=value["model"], cached=True)


def _unscored(delivery: Delivery, error: ModelError, *, moved: bool) -> Task:
    """What becomes of a task whose text nobody scored: each outcome has one end, and none of them is a score.

    A delivery that `moved`, for it finished a part, costs no attempt; there are only so many parts.
    """
    logger().warning("not scored", extra={"outcome": str(error.outcome), "requests": error.requests})
    problem = Problem(code=error.code, message=error.message)
    match error:
        case PartsLeft(retry_after_s=after_s):
            return delivery.defer(after_s=after_s)
        case ModelBusy(requests=requests, retry_after_s=after_s) if moved or requests == 0:  # no attempt was made
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
    """The worker, with the scorers that the settings name, or others. Raises ConfigurationError."""
    check(app.settings)
    return Worker(app, scorers=scorers if scorers is not None else _scorers(app), sleep=sleep)


def _scorers(app: Bindings) -> tuple[Scorer, ...]:
    return build_chain(
        parse_chain(app.settings.scorer_chain),
        settings=app.settings,
        secret=lambda name: app.parameters.secret(name),  # noqa: PLW0108 - makes its client only where a key is asked for
        models=lambda: app.models,
        rate=app.model_rate,
    )


@functools.cache
def _worker() -> Worker:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    with invocation(entry="queue", context=context):
        deadline = Deadline.after(context.get_remaining_time_in_millis() / 1000)
        return _worker().consume(event, deadline=deadline)
