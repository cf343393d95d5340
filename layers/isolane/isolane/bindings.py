"""Everything that a function works with, built from the settings: each client once a container, when first needed.

The only caller of boto3.client. Every part can be replaced by argument, which is how tests put other clients in.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isolane.aws.queue import Queue
from isolane.aws.table import Table
from isolane.backlog import Backlog
from isolane.callers import Callers
from isolane.kv import Values
from isolane.ledger import Ledger
from isolane.payloads import Payloads
from isolane.settings import Settings
from isolane.submissions import Submissions
from isolane.tasks import Tasks

if TYPE_CHECKING:
    from botocore.config import Config

    from isolane.alarms import Alarms
    from isolane.aws.bucket import Bucket
    from isolane.aws.metrics import Metrics
    from isolane.aws.models import Models
    from isolane.aws.parameters import Parameters
    from isolane.batches import Batches
    from isolane.breaker import Breaker
    from isolane.compactions import Compactions
    from isolane.flight import Flights
    from isolane.indexed_vectors import IndexedVectors
    from isolane.objects import Objects
    from isolane.permits import Permits
    from isolane.rate_limit import RateLimit
    from isolane.reservations import Reservations
    from isolane.reviews import Reviews
    from isolane.vectors import Vectors

MakeClient = Callable[[str], Any]


class Bindings:
    """The parts, by name."""

    def __init__(self, settings: Settings, *, make_client: MakeClient | None = None) -> None:
        self.settings = settings
        self._make = make_client if make_client is not None else functools.partial(_client, settings)
        self._making = threading.Lock()

    @classmethod
    def from_env(cls) -> Bindings:
        return cls(Settings.from_env())

    def _make_client(self, service: str) -> Any:
        with self._making:  # boto3 makes clients for one thread at a time, and messages of a batch may want one at once
            return self._make(service)

    @functools.cached_property
    def _dynamodb(self) -> Any:
        return self._make_client("dynamodb")

    @functools.cached_property
    def _sqs(self) -> Any:
        return self._make_client("sqs")

    @functools.cached_property
    def models(self) -> Models:
        from isolane.aws.models import Models  # noqa: PLC0415 - only where a chain names a model

        return Models(self._make_client("bedrock-runtime"))

    @functools.cached_property
    def parameters(self) -> Parameters:
        from isolane.aws.parameters import Parameters  # noqa: PLC0415 - only where a key is asked for

        return Parameters(self._make_client("ssm"))

    @functools.cached_property
    def openai_key(self) -> str:
        """The key of the OpenAI-compatible endpoint; "" where there is none."""
        return self._key(self.settings.openai_api_key, parameter=self.settings.openai_api_key_parameter)

    @functools.cached_property
    def image_key(self) -> str:
        """The key of the provider of pictures; "" where there is none."""
        return self._key(self.settings.image_api_key, parameter=self.settings.image_api_key_parameter)

    def _key(self, key: str, *, parameter: str) -> str:
        return (key if key or not parameter else self.parameters.secret(parameter)).strip()

    @functools.cached_property
    def bucket(self) -> Bucket:
        from isolane.aws.bucket import Bucket  # noqa: PLC0415 - only for texts too large for a message

        return Bucket(self._make_client("s3"), self.settings.bucket)

    @functools.cached_property
    def links(self) -> Bucket:
        """The bucket, as it is called from outside."""
        if not self.settings.public_endpoint_url:
            return self.bucket
        from isolane.aws.bucket import Bucket  # noqa: PLC0415 - only where there is something to link to

        outside = replace(self.settings, endpoint_url=self.settings.public_endpoint_url)
        return Bucket(_client(outside, "s3"), self.settings.bucket)

    @functools.cached_property
    def tasks(self) -> Tasks:
        return Tasks(Table(self._dynamodb, self.settings.tasks_table), self.ledger)

    @functools.cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.state)

    @functools.cached_property
    def state(self) -> Table:
        return Table(self._dynamodb, self.settings.state_table)

    @functools.cached_property
    def values(self) -> Values:
        return Values(Table(self._dynamodb, self.settings.values_table))

    @functools.cached_property
    def callers(self) -> Callers:
        return Callers(self.state, self.settings.allow_anonymous)

    @functools.cached_property
    def permits(self) -> Permits:
        from isolane.permits import Permits  # noqa: PLC0415 - only where models are called

        return Permits(self.state)

    @functools.cached_property
    def breaker(self) -> Breaker:
        from isolane.breaker import Breaker  # noqa: PLC0415 - only where models are called

        return Breaker(self.state)

    @functools.cached_property
    def reservations(self) -> Reservations:
        from isolane.reservations import Reservations  # noqa: PLC0415 - only where seats are reserved

        return Reservations(self.state)

    @functools.cached_property
    def flights(self) -> Flights:
        from isolane.flight import Flights  # noqa: PLC0415 - only where models are called

        return Flights(self.values)

    @functools.cached_property
    def objects(self) -> Objects:
        from isolane.objects import Objects  # noqa: PLC0415 - only where there are any

        return Objects(self.state, self.values.table, alarms=self.alarms)

    @functools.cached_property
    def alarms(self) -> Alarms:
        from isolane.alarms import Alarms  # noqa: PLC0415 - the same

        return Alarms(self.state, lambda: self.alarm_queue)

    @functools.cached_property
    def alarm_queue(self) -> Queue:
        return Queue(self._sqs, self.settings.alarm_queue_url)

    @functools.cached_property
    def alarm_dead_letters(self) -> Queue:
        return Queue(self._sqs, self.settings.alarm_dead_letter_queue_url)

    @functools.cached_property
    def score_queue(self) -> Queue:
        return Queue(self._sqs, self.settings.score_queue_url)

    @functools.cached_property
    def score_dead_letters(self) -> Queue:
        return Queue(self._sqs, self.settings.score_dead_letter_queue_url)

    @functools.cached_property
    def payloads(self) -> Payloads:
        return Payloads(lambda: self.bucket)

    @functools.cached_property
    def reviews(self) -> Reviews:
        from isolane.reviews import Reviews  # noqa: PLC0415 - only for reviewers

        return Reviews(self.tasks, self.payloads)

    @functools.cached_property
    def scores(self) -> Submissions:
        return Submissions(
            tasks=self.tasks,
            values=self.values,
            queue=self.score_queue,
            payloads=self.payloads,
            shed=self.score_backlog.admit,
        )

    @functools.cached_property
    def score_backlog(self) -> Backlog:
        return Backlog(
            queue=self.score_queue,
            values=self.values,
            name="score",
            at_once=self.settings.score_concurrency * self.settings.pool_size,
            longest_wait_s=self.settings.longest_queue_wait_s,
        )

    @functools.cached_property
    def embed_queue(self) -> Queue:
        return Queue(self._sqs, self.settings.embed_queue_url)

    @functools.cached_property
    def embed_dead_letters(self) -> Queue:
        return Queue(self._sqs, self.settings.embed_dead_letter_queue_url)

    @functools.cached_property
    def embed_backlog(self) -> Backlog:
        return Backlog(
            queue=self.embed_queue,
            values=self.values,
            name="embed",
            at_once=self.settings.embed_concurrency * self.settings.embed_batch_size,
            longest_wait_s=self.settings.longest_queue_wait_s,
            keeps_pace=True,
        )

    @functools.cached_property
    def batches(self) -> Batches:
        from isolane.batches import Batches  # noqa: PLC0415 - only where documents are embedded

        return Batches(self.values.table, self.values.clock)

    @functools.cached_property
    def vectors(self) -> Vectors | IndexedVectors:
        """Where vectors lie: in State, or in an index of S3 Vectors, where one is named."""
        return self._indexed_vectors() if self.settings.vector_index_arn else self._blocks

    @functools.cached_property
    def _blocks(self) -> Vectors:
        from isolane.vectors import Vectors  # noqa: PLC0415 - only where documents are embedded

        return Vectors(self.state)

    def _indexed_vectors(self) -> IndexedVectors:
        from isolane.aws.vector_index import VectorIndex  # noqa: PLC0415 - only where an index is named
        from isolane.indexed_vectors import IndexedVectors  # noqa: PLC0415 - the same

        index = VectorIndex(self._make_client("s3vectors"), self.settings.vector_index_arn)
        return IndexedVectors(index=index, permits=self.permits)

    @functools.cached_property
    def compactions(self) -> Compactions:
        from isolane.compactions import Compactions  # noqa: PLC0415 - only where documents are embedded

        return Compactions(table=self.state, vectors=self._blocks, permits=self.permits)

    @functools.cached_property
    def posts(self) -> RateLimit | None:
        """The limit on POSTs, where one is set."""
        return self._a_minute(self.settings.posts_per_minute)

    @functools.cached_property
    def model_rate(self) -> RateLimit | None:
        """The limit on requests to each model, where one is set; a tenth of it at once, as providers count seconds."""
        limit = self.settings.model_requests_per_minute
        return self._a_minute(limit, burst=max(1, limit // 10))

    def _a_minute(self, limit: int, *, burst: int | None = None) -> RateLimit | None:
        if limit == 0:
            return None
        from isolane.rate_limit import RateLimit  # noqa: PLC0415 - only where a limit is set

        return RateLimit(self.values.table, limit=limit, period_s=60.0, burst=burst)

    @functools.cached_property
    def metrics(self) -> Metrics:
        from isolane.aws.metrics import Metrics  # noqa: PLC0415 - only for who asks how things stand

        return Metrics(self._make_client("cloudwatch"))


def _client(settings: Settings, service: str) -> Any:
    import boto3  # noqa: PLC0415 - three quarters of a cold start; whoever hands in clients does not pay for it

    make: Any = boto3.client  # the service is a variable here, which the stubs do not foresee
    return make(service, endpoint_url=settings.endpoint_url or None, config=_config(settings, service))


def _config(settings: Settings, service: str) -> Config:
    from botocore.config import Config  # noqa: PLC0415 - comes with boto3

    if service == "bedrock-runtime":
        # Attempts at a model have one owner, and it is not the SDK.
        return Config(
            connect_timeout=2,
            read_timeout=settings.model_timeout_s,
            retries={"mode": "standard", "total_max_attempts": 1},
        )
    return Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": 3},
        max_pool_connections=16,
        signature_version="s3v4"
        if service == "s3"
        else None,  # S3's links are signed in an older way if nothing is said
        s3={"addressing_style": "path" if settings.endpoint_url else "auto"},
    )
