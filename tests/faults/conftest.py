"""Moto, a table and a queue for the tests of the lab itself, and the table of results at the end of a run."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from tests.faults.clients import connect
from tests.faults.lab import Lab
from tests.faults.quick import quick_moto
from tests.faults.results import Results

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


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """The product in the lab, on moto."""
    with quick_moto():
        yield Lab.furnished()


@pytest.fixture(scope="module")
def guarded_lab() -> Iterator[Lab]:
    """The same, with a breaker and permits before the model."""
    with quick_moto():
        yield Lab.furnished(guarded=True)


@pytest.fixture(scope="module")
def fallback_lab() -> Iterator[Lab]:
    """The same, where the first model of the chain is guarded and always busy."""
    with quick_moto():
        yield Lab.furnished(guarded=True, falls_back=True)


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Results:
    """Where a walk leaves its row of the table."""
    return request.config.stash.setdefault(RESULTS, Results())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what the walks have found, and leaves it where `tests.faults.run` has asked for it."""
    results = terminalreporter.config.stash.get(RESULTS, None)
    if results is not None and results.rows:
        terminalreporter.section("fault lab")
        terminalreporter.write_line(results.table())
        if "FAULT_RESULTS" in os.environ:
            results.save(Path(os.environ["FAULT_RESULTS"]))
