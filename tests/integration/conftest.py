"""A second stack of the same template, whose scorer is a model of the tests' own: a server told how to misbehave."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isolane.aws.queue import Queue
from isolane.aws.table import Table
from isolane.tasks import Tasks
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.e2e.client import Client
from tests.environment import clients
from tests.environment.deploy import SECTIONS, Deployment, parameters
from tests.environment.places import BUILT, ROOT, STACK_NAME
from tests.environment.sam import sam
from tests.waiting import wait_until

NAME = f"{STACK_NAME}-models"


@dataclass(frozen=True, kw_only=True)
class Models:
    """The second stack: its API, its tables and queues, and the model behind it."""

    api: Client
    server: ModelServer
    url: str
    outputs: dict[str, str]

    @property
    def tasks(self) -> Tasks:
        return Tasks(Table(clients.dynamodb(self.url), self.outputs["TasksTableName"]))

    @property
    def state(self) -> Table:
        return Table(clients.dynamodb(self.url), self.outputs["StateTableName"])

    @property
    def queue(self) -> Queue:
        return Queue(clients.sqs(self.url), self.outputs["ScoreQueueUrl"])

    @property
    def dead_letters(self) -> Queue:
        return Queue(clients.sqs(self.url), self.outputs["ScoreDeadLetterQueueUrl"])

    def asked_about(self, text: str) -> int:
        """How many requests to the model had this text in them."""
        return sum(text in request.body for request in self.server.requests)

    def dead_letter(self, key: str, *, timeout_s: float = 30) -> dict[str, Any]:
        """The row of a dead letter, once it is there."""
        return wait_until(
            lambda: self.state.get({"pk": "dead-letters", "sk": key}),
            description=f"there is a dead letter for {key}",
            timeout_s=timeout_s,
        )

    def in_queue(self, queue: Queue) -> int:
        """Messages in it, seen or not."""
        names = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
        answer = queue.client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=names)  # type: ignore[arg-type]  # literals, made of parts
        return sum(int(count) for count in answer["Attributes"].values())

    def kill_worker(self) -> bool:
        """Kills a process that runs the worker function, as an instance dies on AWS. False where there is none."""
        killed = _processes_with(f"AWS_LAMBDA_FUNCTION_NAME={NAME}-ScoringWorker")
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return bool(killed)


def _processes_with(variable: str) -> list[int]:
    """The processes in whose environment the variable begins so."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            surroundings = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(entry.startswith(variable.encode()) for entry in surroundings):
            found.append(int(place.parent.name))
    return found


@pytest.fixture(scope="session")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def _second_stack(deployment: Deployment, server: ModelServer) -> Models:
    url = deployment.emulator.url
    chosen = parameters(deployment.emulator) | {
        "ScorerChain": "openai:test-model",
        "OpenAiBaseUrl": server.base_url,
        "OpenAiKey": "sk-test-key",
        "ModelTimeout": "4",
    }
    sam(
        *(
            "deploy",
            "--template-file",
            str(BUILT / f"{deployment.emulator.name}.yaml"),
            "--config-file",
            str(ROOT / "samconfig.toml"),
        ),
        *("--config-env", SECTIONS[deployment.emulator.name], "--stack-name", NAME),
        *("--no-fail-on-empty-changeset", "--no-progressbar"),
        *("--parameter-overrides", *(f"{name}={value}" for name, value in chosen.items())),
        url=url,
    )
    shown = clients.cloudformation(url).describe_stacks(StackName=NAME)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in shown["Outputs"]}
    base_url = f"{url}/_aws/execute-api/{outputs['ApiId']}/v1"
    return Models(api=Client(base_url=base_url), server=server, url=url, outputs=outputs)


@pytest.fixture
def models(_second_stack: Models) -> Models:
    """The second stack, its model well-behaved and its record empty."""
    _second_stack.server.play(steps.score(80))
    _second_stack.server.book.forget()
    return _second_stack


@pytest.fixture
def text() -> str:
    """A text that nobody has had scored before."""
    return f"Rivers shape the land, because water carries soil. {uuid.uuid4().hex}"


requires_proc = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="finding a function's process needs /proc, which only Linux has"
)
