"""The application's functions in process, over the clients of a test: what Lambda would call, called here."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import embeddings.api
import embeddings.worker
import images.api
import images.generations
import images.sweeper
import objects.alarms
import objects.api
import operations.api
import operations.dead_letters
import operations.sweeper
import reservations.api
import scoring.api
import scoring.worker
from embeddings.embedders import Embedder
from images.provider import Provider
from isolane.api import Api
from isolane.aws.queue import Queue
from isolane.bindings import Bindings
from isolane.breaker import Breaker
from isolane.deadline import Deadline
from isolane.objects import Objects
from isolane.permits import Permits
from isolane.reservations import Reservations
from scoring.scorers import Scorer
from tests.world import World, receive, settings


@dataclass
class Context:
    """What Lambda hands to a function beside the event."""

    aws_request_id: str = "request-1"
    left_ms: int = 25_000

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


@dataclass
class Application:
    """The application, whole: its APIs, its queues, and what works on them."""

    world: World
    scorers: tuple[Scorer, ...] | None = None
    embedder: Embedder | None = None
    provider: Provider | None = None
    changes: dict[str, str] = field(default_factory=dict)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self.queue = self.world.make_queue("scores", VisibilityTimeout="60")
        self.dead = self.world.make_queue("dead-letters")
        self.embed_queue = self.world.make_queue("documents", VisibilityTimeout="60")
        self.embed_dead = self.world.make_queue("dead-documents")
        self.world.make_bucket()
        self.alarms = self.world.make_queue("alarms", VisibilityTimeout="60")
        self.failed_alarms = self.world.make_queue("failed-alarms")
        self.bindings = Bindings(self._settings(), make_client=self.world.client)
        self.bindings.ledger = replace(self.world.ledger, sleep=self.sleep)
        self.bindings.tasks = replace(self.world.tasks, ledger=self.bindings.ledger)
        self.bindings.values = self.world.values
        self.bindings.permits = Permits(self.world.state, self.world.clock)
        self.bindings.breaker = Breaker(self.world.state, clock=self.world.clock)
        self.bindings.reservations = Reservations(self.world.state, self.world.clock, self.sleep)
        self.bindings.objects = Objects(
            self.world.state, self.world.values.table, self.world.clock, self.sleep, self.bindings.alarms
        )
        self.api: Api = scoring.api.build(self.bindings)
        self.workshops: Api = reservations.api.build(self.bindings)
        self.named_objects: Api = objects.api.build(self.bindings)
        self.ringing, self.alarm_consumer = objects.alarms.build(self.bindings)
        self.worker = scoring.worker.build(self.bindings, scorers=self.scorers, sleep=self.sleep)
        self.embeddings: Api = embeddings.api.build(self.bindings, embedder=self.embedder)
        self.embedding_worker = embeddings.worker.build(self.bindings, embedder=self.embedder)
        self.generations = images.generations.build(self.bindings, provider=self.provider)
        self.images: Api = images.api.build(self.bindings, generations=self.generations)
        self.image_sweeper = images.sweeper.build(self.bindings, generations=self.generations)
        self.operations: Api = operations.api.build(self.bindings)
        self.burial = operations.dead_letters.build(self.bindings)
        self.sweeper = operations.sweeper.build(self.bindings)

    def _settings(self) -> Any:
        names = {
            "TASKS_TABLE": self.world.tasks.table.name,
            "STATE_TABLE": self.world.state.name,
            "VALUES_TABLE": self.world.values.table.name,
            "BUCKET": self.world.bucket_name,
            "SCORE_QUEUE_URL": self.queue.url,
            "SCORE_DEAD_LETTER_QUEUE_URL": self.dead.url,
            "ALARM_QUEUE_URL": self.alarms.url,
            "ALARM_DEAD_LETTER_QUEUE_URL": self.failed_alarms.url,
            "EMBED_QUEUE_URL": self.embed_queue.url,
            "EMBED_DEAD_LETTER_QUEUE_URL": self.embed_dead.url,
            "ALLOW_ANONYMOUS": "true",
        }
        return settings(**{**names, **self.changes})

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Any = None,
        query: Any = None,
        api: Api | None = None,
    ) -> Any:
        """The answer of the API (scoring's, unless another is named), its body parsed."""
        event = {
            "httpMethod": method,
            "path": path,
            "headers": headers or {},
            "queryStringParameters": query,
            "body": json.dumps(body) if body is not None else None,
        }
        prefixes = {
            "/admin/": self.operations,
            "/api/embed/": self.embeddings,
            "/images": self.images,
            "/credits": self.images,
        }
        (admin,) = [owner for prefix, owner in prefixes.items() if path.startswith(prefix)] or [self.api]
        answer = (api or admin)(event, Context())
        return {**answer, "json": json.loads(answer["body"])}

    def deliver(self, *, left_s: float = 60) -> dict[str, Any]:
        """One batch to the worker, and its answer; nothing is deleted, as only Lambda does that."""
        return self.work(receive(self.queue, most=3), left_s=left_s)

    def work(self, records: list[dict[str, Any]], *, left_s: float = 60) -> dict[str, Any]:
        return self.worker.consume({"Records": records}, deadline=Deadline.after(left_s))

    def embed(self, records: list[dict[str, Any]], *, left_s: float = 60) -> dict[str, Any]:
        """A batch to the worker that embeds."""
        return self.embedding_worker.consume({"Records": records}, deadline=Deadline.after(left_s))

    def bury(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        """A batch to the function behind the dead-letter queue."""
        return self.burial.consume({"Records": records}, deadline=Deadline.after(60))

    def sweep(self, *, left_s: float = 50) -> None:
        """One run of the sweeper."""
        self.sweeper.sweep(deadline=Deadline.after(left_s))

    def sweep_images(self, *, left_s: float = 50) -> None:
        """One run of the sweeper of pictures."""
        self.image_sweeper.sweep(deadline=Deadline.after(left_s))

    def ring(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        """A batch to the function behind the queue of alarms."""
        deadline = Deadline.after(30)
        handle = functools.partial(self.ringing.ring, deadline=deadline)
        return self.alarm_consumer.consume({"Records": records}, handle, deadline=deadline)

    def letters(self) -> list[dict[str, Any]]:
        """The dead letters that are kept."""
        return self.world.state.query("#pk = :pk", values={"pk": "dead-letters"}, limit=100).items

    def acknowledge(self, records: list[dict[str, Any]], answer: dict[str, Any]) -> None:
        """What Lambda does with the worker's answer: deletes what is not named in it."""
        again = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for record in records:
            if record["messageId"] not in again:
                delete(self.queue, record)


def delete(queue: Queue, record: dict[str, Any]) -> None:
    queue.client.delete_message(QueueUrl=queue.url, ReceiptHandle=record["receiptHandle"])
