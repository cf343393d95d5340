"""`GET /admin/stats`: what waits, who holds a permit, which breakers are open, and how busy Lambda is."""

from __future__ import annotations

from typing import Any

from isolane.api import Answer, Request
from isolane.aws.metrics import Metric
from isolane.aws.queue import Depth, Queue
from isolane.aws.table import count
from isolane.bindings import Bindings
from isolane.circuit import Circuit, Closed, Open
from isolane.errors import Unavailable
from isolane.observability import logger
from isolane.semaphore import Lease
from isolane.task import timestamp
from operations.dead_letters import PARTITION

_MOST_COUNTED = 1_000
"""Dead letters and reviews are counted so far: whoever has more has another question than how many."""
_CONCURRENT = Metric(namespace="AWS/Lambda", name="ConcurrentExecutions", dimensions={})


class Stats:
    """How things stand, put together from the stores that know."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def answer(self, _: Request) -> Answer:
        queues = {
            "score": self._app.score_queue,
            "scoreDeadLetters": self._app.score_dead_letters,
            "embed": self._app.embed_queue,
            "embedDeadLetters": self._app.embed_dead_letters,
            "alarmDeadLetters": self._app.alarm_dead_letters,
        }
        oldest, busy = self._measured(list(queues.values()))
        return Answer(
            body={
                "queues": {
                    name: _queue(queue.depth(), oldest_s=oldest_s)
                    for (name, queue), oldest_s in zip(queues.items(), oldest, strict=True)
                },
                "estimatedWaitSeconds": self._app.score_backlog.wait_s(),
                "deadLetters": count(self._app.state, "#pk = :pk", values={"pk": PARTITION}, most=_MOST_COUNTED),
                "inReview": self._app.reviews.waiting(most=_MOST_COUNTED),
                "permits": {name: self._permits(name) for name in self._models()},
                "breakers": {name: _breaker(self._app.breaker.find(name), self._app) for name in self._models()},
                "currentRequests": busy,
            }
        )

    def _models(self) -> list[str]:
        """The names under which models have their permits and breakers: the chain's, and the embedder."""
        names = [name.strip() for name in self._app.settings.scorer_chain.split(",")]
        return [name for name in (*names, self._app.settings.embedder) if name != "builtin"]

    def _permits(self, name: str) -> dict[str, Any] | None:
        found = self._app.permits.find(name)
        if found is None:
            return None
        live = found.live(self._app.permits.now_ms())
        return {"limit": found.limit, "free": found.free, "holders": [_holder(lease) for lease in live]}

    def _measured(self, queues: list[Queue]) -> tuple[list[float | None], float | None]:
        """How old each queue's oldest message is, and Lambda's concurrent executions; None where nobody knows."""
        metrics = [_oldest(queue) for queue in queues]
        try:
            *oldest, busy = self._app.metrics.newest([*metrics, _CONCURRENT])
        except Unavailable:
            logger().warning("CloudWatch did not answer")
            return [None] * len(queues), None
        return oldest, busy


def _oldest(queue: Queue) -> Metric:
    name = queue.url.rsplit("/", 1)[-1]
    return Metric(namespace="AWS/SQS", name="ApproximateAgeOfOldestMessage", dimensions={"QueueName": name})


def _queue(depth: Depth, *, oldest_s: float | None) -> dict[str, Any]:
    return {
        "visible": depth.visible,
        "inFlight": depth.in_flight,
        "delayed": depth.delayed,
        "oldestSeconds": oldest_s,
    }


def _holder(lease: Lease) -> dict[str, Any]:
    return {"holder": lease.holder, "count": lease.count, "until": timestamp(lease.until_ms), "fence": lease.fence}


def _breaker(circuit: Circuit, app: Bindings) -> dict[str, Any]:
    verdict = circuit.verdict(app.breaker.now_ms())
    if isinstance(verdict, Closed):
        return {"state": "closed"}
    if isinstance(verdict, Open):
        return {"state": "open", "retryAfterSeconds": round(verdict.retry_after_s, 1)}
    return {"state": "half_open"}
