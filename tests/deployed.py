"""A deployed stack's tables and queues, by the product's own parts: what lies behind its API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isolane.aws.codec import from_item
from isolane.aws.queue import Queue
from isolane.aws.table import Table
from isolane.kv import Values
from isolane.ledger import Ledger
from isolane.tasks import Tasks
from tests.e2e.client import Client
from tests.environment import clients
from tests.environment.deploy import Deployment


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """What a deployment is made of."""

    deployment: Deployment

    @property
    def url(self) -> str:
        """Where its AWS is."""
        return self.deployment.emulator.url

    @property
    def api(self) -> Client:
        return Client(base_url=self.deployment.api_url)

    @property
    def tasks(self) -> Tasks:
        return Tasks(self._table("TasksTableName"), self.ledger)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.state)

    @property
    def values(self) -> Values:
        return Values(self._table("ValuesTableName"))

    @property
    def state(self) -> Table:
        return self._table("StateTableName")

    @property
    def queue(self) -> Queue:
        return self._queue("ScoreQueueUrl")

    @property
    def dead_letters(self) -> Queue:
        return self._queue("ScoreDeadLetterQueueUrl")

    @property
    def embed_queue(self) -> Queue:
        return self._queue("EmbedQueueUrl")

    def in_queue(self, queue: Queue) -> int:
        """Messages in it, seen or not."""
        names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
        answer = queue.client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=names)  # type: ignore[arg-type]  # literals, made of parts
        return sum(int(count) for count in answer["Attributes"].values())

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Everything in a table, which the product itself never asks for."""
        pages = table.client.get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True)
        return [from_item(item) for page in pages for item in page["Items"]]

    def _table(self, output: str) -> Table:
        return Table(clients.dynamodb(self.url), self.deployment.outputs[output])

    def _queue(self, output: str) -> Queue:
        return Queue(clients.sqs(self.url), self.deployment.outputs[output])
