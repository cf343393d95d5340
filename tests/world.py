"""The parts of the product over clients of a test's own: tables and queues with random names, and a clock to set."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from isolane.aws.bucket import Bucket
from isolane.aws.queue import Queue
from isolane.aws.table import Table
from isolane.callers import Callers
from isolane.kv import Values
from isolane.ledger import Ledger
from isolane.objects import Objects
from isolane.payloads import Payloads
from isolane.reservations import Reservations
from isolane.settings import Settings
from isolane.submissions import Submissions
from isolane.tasks import Tasks
from tests.template import TEMPLATE


@dataclass
class Clock:
    """Seconds since 1970 that pass only when told to."""

    now_s: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass
class World:
    """The application's parts over one set of clients. Tables are made from the template, with random names."""

    client: Callable[[str], Any]
    clock: Clock = field(default_factory=Clock)
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def table(self, logical_name: str) -> Table:
        return Table(self.client("dynamodb"), f"{logical_name}-{self.suffix}")

    def make_tables(self) -> None:
        for logical_name in ("TasksTable", "StateTable", "ValuesTable"):
            make_table(self.client("dynamodb"), f"{logical_name}-{self.suffix}", logical_name=logical_name)

    def remove_tables(self) -> None:
        for logical_name in ("TasksTable", "StateTable", "ValuesTable"):
            self.client("dynamodb").delete_table(TableName=f"{logical_name}-{self.suffix}")

    def make_queue(self, name: str, **attributes: str) -> Queue:
        answer = self.client("sqs").create_queue(QueueName=f"{name}-{self.suffix}", Attributes=attributes)
        return Queue(self.client("sqs"), answer["QueueUrl"])

    def make_bucket(self) -> Bucket:
        s3 = self.client("s3")
        elsewhere = s3.meta.region_name != "us-east-1"
        place = {"CreateBucketConfiguration": {"LocationConstraint": s3.meta.region_name}} if elsewhere else {}
        with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=self.bucket_name, **place)
        return Bucket(s3, self.bucket_name)

    @property
    def bucket_name(self) -> str:
        return f"bucket-{self.suffix}"

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.table("TasksTable"), self.ledger, self.clock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.state, self.clock)

    @property
    def values(self) -> Values:
        return Values(self.table("ValuesTable"), self.clock)

    @property
    def state(self) -> Table:
        return self.table("StateTable")

    @property
    def reservations(self) -> Reservations:
        return Reservations(self.state, self.clock)

    @property
    def objects(self) -> Objects:
        return Objects(self.state, self.table("ValuesTable"), self.clock)

    def callers(self, *, allow_anonymous: bool = False) -> Callers:
        return Callers(self.state, allow_anonymous, self.clock)

    def submissions(self, queue: Queue, bucket: Bucket | None = None) -> Submissions:
        def lend() -> Bucket:
            assert bucket is not None, "this test's texts fit into a message"
            return bucket

        return Submissions(tasks=self.tasks, values=self.values, queue=queue, payloads=Payloads(lend))


def make_table(client: Any, name: str, *, logical_name: str) -> None:
    """A table as the template has it, by keys and indexes."""
    properties = TEMPLATE["Resources"][logical_name]["Properties"]
    indexes = (
        {"GlobalSecondaryIndexes": properties["GlobalSecondaryIndexes"]}
        if "GlobalSecondaryIndexes" in properties
        else {}
    )
    client.create_table(
        TableName=name,
        KeySchema=properties["KeySchema"],
        AttributeDefinitions=properties["AttributeDefinitions"],
        BillingMode="PAY_PER_REQUEST",
        **indexes,
    )


def settings(**changes: Any) -> Settings:
    """Settings with a value for everything that must be set."""
    needed = {
        "TASKS_TABLE": "tasks",
        "STATE_TABLE": "state",
        "VALUES_TABLE": "values",
        "BUCKET": "bucket",
        "SCORE_QUEUE_URL": "queue",
        "SCORE_DEAD_LETTER_QUEUE_URL": "dead-letters",
    }
    return Settings.from_env({**needed, **changes})


def receive(queue: Queue, *, most: int = 10) -> list[dict[str, Any]]:
    """The messages that are visible now, in the form in which Lambda hands them to a function."""
    answer = queue.client.receive_message(
        QueueUrl=queue.url,
        MaxNumberOfMessages=most,
        MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
        MessageAttributeNames=["All"],
    )
    return [record(message) for message in answer.get("Messages", [])]


def record(message: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {
        name: {"stringValue": value["StringValue"], "dataType": value["DataType"]}
        for name, value in message.get("MessageAttributes", {}).items()
    }
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": attributes,
        "eventSource": "aws:sqs",
    }
