"""A second stack of the same template, whose model and whose pictures come from servers told how to misbehave."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.deployed import Deployed
from tests.doubles import steps
from tests.doubles.manners import good
from tests.doubles.model_server import ModelServer
from tests.doubles.prediction_server import PredictionServer
from tests.environment import door, processes
from tests.environment.beside import deploy_beside, stack_name
from tests.environment.deploy import Deployment
from tests.waiting import wait_until

PURPOSE = "models"


@dataclass(frozen=True, kw_only=True)
class Models(Deployed):
    """The second stack, and what is behind it."""

    server: ModelServer

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

    def kill_worker(self) -> bool:
        """Kills each process that runs the worker function. False where there is none."""
        return self.kill("ScoringWorker")

    def kill(self, function: str, *, most: int | None = None) -> bool:
        """Kills the processes that run this function, or so many of them. False where there is none."""
        running = processes.running(function, stack_name=stack_name(PURPOSE))
        return len([pid for pid in sorted(running)[:most] if processes.kill(pid)]) > 0


@dataclass(frozen=True, kw_only=True)
class Providers(Models):
    """The same, with the provider of its pictures."""

    predictions: PredictionServer


@pytest.fixture(scope="session")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def predictions() -> Iterator[PredictionServer]:
    with PredictionServer() as predictions:
        yield predictions


@pytest.fixture(scope="session")
def _second_stack(deployment: Deployment, server: ModelServer, predictions: PredictionServer) -> Iterator[Providers]:
    with (
        door.for_functions(deployment.emulator, server.url) as model_url,
        door.for_functions(deployment.emulator, predictions.url) as predictions_url,
    ):
        changes = {
            "ScorerChain": "openai:test-model",
            "OpenAiBaseUrl": f"{model_url}/v1",
            "OpenAiKey": "sk-test-key",
            "ModelTimeout": "4",
            "Embedder": "openai:test-embedding",
            "ImageProvider": "replicate:somebody/something",
            "ImageBaseUrl": f"{predictions_url}/v1",
            "ImageHosts": predictions_url,
            "ImageKey": "r8-test-key",
            "ImageFinishSeconds": "15",
        }
        made = deploy_beside(deployment, purpose=PURPOSE, changes=changes)
        yield Providers(deployment=made, server=server, predictions=predictions)


@pytest.fixture
def models(_second_stack: Providers) -> Providers:
    """The second stack, its model well-behaved and its record empty."""
    _second_stack.server.play(steps.score(80))
    _second_stack.server.book.forget()
    _second_stack.predictions.play(good())
    _second_stack.predictions.record.forget()
    return _second_stack


@pytest.fixture
def text() -> str:
    """A text that nobody has had scored before."""
    return f"Rivers shape the land, because water carries soil. {uuid.uuid4().hex}"


@pytest.fixture
def mortal(deployment: Deployment) -> None:
    """For tests that kill processes in which functions run."""
    if not processes.VISIBLE:
        pytest.skip("finding a function's process needs /proc, which only Linux has")
    if deployment.emulator.name == "localstack":
        pytest.skip("LocalStack waits 15 minutes for an instance that died, and its queue waits with it")
