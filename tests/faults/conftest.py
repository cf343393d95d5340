"""Moto, a table and a queue for the tests of the lab itself, and the table of results at the end of a run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from tests.faults.results import Results

REGION = "eu-central-1"
RESULTS = pytest.StashKey[Results]()


@dataclass(frozen=True, kw_only=True)
class Toy:
    """A table `things` (key `id`), a queue, and clients that nobody watches."""

    dynamodb: Any
    sqs: Any
    queue_url: str

    def put(self, key: str, **numbers: int) -> None:
        """Writes a row of numbers."""
        row = {name: {"N": str(value)} for name, value in numbers.items()}
        self.dynamodb.put_item(TableName="things", Item={"id": {"S": key}, **row})

    def number(self, key: str, *, name: str = "value") -> int:
        """Reads one number of a row, 0 if there is none."""
        row = self.dynamodb.get_item(TableName="things", Key={"id": {"S": key}}, ConsistentRead=True).get("Item", {})
        return int(row.get(name, {}).get("N", 0))

    def messages(self) -> int:
        """How many messages lie in the queue."""
        names = ["ApproximateNumberOfMessages"]
        answer = self.sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=names)
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def drain(self) -> None:
        """Empties the queue; a purge may be had once a minute only."""
        while found := self.sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            for message in found:
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])


def new_client(service: str, *, endpoint_url: str | None = None, attempts: int = 1) -> Any:
    """A client of made-up credentials that tries `attempts` times in all."""
    return _session().client(
        service,  # type: ignore[call-overload]  # any service, by its name
        endpoint_url=endpoint_url,
        config=Config(retries={"mode": "standard", "total_max_attempts": attempts}, read_timeout=5, connect_timeout=2),
    )


# The same client for the same arguments: to make one takes longer than most of these tests.
connect = cache(new_client)


@cache
def _session() -> boto3.session.Session:
    # One for all: each session reads botocore's descriptions of the services again.
    return boto3.session.Session("testing", "testing", region_name=REGION)


def furnish(dynamodb: Any, sqs: Any) -> Toy:
    """Creates the table and the queue."""
    dynamodb.create_table(
        TableName="things",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return Toy(dynamodb=dynamodb, sqs=sqs, queue_url=sqs.create_queue(QueueName="work")["QueueUrl"])


@pytest.fixture
def toy() -> Iterator[Toy]:
    """The toy world on moto, in this process."""
    with mock_aws():
        yield furnish(connect("dynamodb"), connect("sqs"))


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Results:
    """Where a walk leaves its row of the table."""
    return request.config.stash.setdefault(RESULTS, Results())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what the walks have found."""
    results = terminalreporter.config.stash.get(RESULTS, None)
    if results is not None and results.rows:
        terminalreporter.section("fault lab")
        terminalreporter.write_line(results.table())
