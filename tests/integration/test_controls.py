"""What keeps a provider from being overrun, seen through HTTP on a deployed stack."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.deployed import Deployed
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.e2e.client import Answer
from tests.environment import door
from tests.environment.beside import deploy_beside, remove
from tests.environment.deploy import Deployment
from tests.integration.conftest import Models
from tests.waiting import wait_until

MODEL = "openai:test-model"
POSTS = 60
ASKED_A_MINUTE = 30


@pytest.fixture
def text() -> str:
    return fresh()


def fresh() -> str:
    return f"Rivers shape the land, because water carries soil. {uuid.uuid4().hex}"


def stats(stack: Deployed) -> Any:
    answer = stack.api.call("GET", "/admin/stats")
    assert answer.status == 200
    return answer.json


def test_a_permit_is_held_for_as_long_as_the_model_is_asked(models: Models, text: str) -> None:
    models.server.play(steps.score(80, delay_s=2))
    task_id = models.api.submit(text).json["taskId"]

    def held() -> list[Any]:
        permits = stats(models)["permits"][MODEL]
        assert permits is None or permits["free"] + len(permits["holders"]) == permits["limit"] == 5
        return permits["holders"] if permits is not None else []

    assert len(wait_until(held, description="a permit is held")) == 1
    assert models.api.wait(task_id)["status"] == "completed"
    wait_until(lambda: not held(), description="the permit is back")


def test_no_more_calls_are_under_way_than_there_are_permits(models: Models) -> None:
    models.server.play(steps.score(80, delay_s=0.5))
    ids = [models.api.submit(fresh()).json["taskId"] for _ in range(20)]
    assert [models.api.wait(task_id)["attempt"] for task_id in ids] == [1] * 20, (
        "who waited for a permit made no attempt"
    )
    assert 2 <= models.server.max_concurrency <= 5


def test_a_provider_that_says_when_to_come_again_is_left_alone_until_then(models: Models, text: str) -> None:
    models.server.play(steps.rate_limited("5"), steps.score(80))
    first = models.api.submit(text).json["taskId"]
    breaker = wait_until(
        lambda: _open(stats(models)), description="the breaker is open, for everybody to see", timeout_s=20
    )
    assert 0 < breaker["retryAfterSeconds"] <= 5
    second = models.api.submit(fresh()).json["taskId"]
    ended = [models.api.wait(task_id) for task_id in (first, second)]
    assert [(task["status"], task["attempt"]) for task in ended] == [("completed", 2), ("completed", 1)]
    asked_s = [request.started_s for request in models.server.requests]
    assert len(asked_s) == 3
    assert asked_s[1] - asked_s[0] >= 5
    assert stats(models)["breakers"][MODEL] == {"state": "closed"}


def _open(seen: dict[str, Any]) -> dict[str, Any] | None:
    breaker: dict[str, Any] = seen["breakers"][MODEL]
    return breaker if breaker["state"] == "open" else None


@pytest.fixture
def tight(deployment: Deployment) -> Iterator[Models]:
    """A stack that has two texts in work at once, lets nobody wait for more than a second, and counts each request."""
    with ModelServer() as slow, door.for_functions(deployment.emulator, slow.url) as model_url:
        slow.play(steps.score(80, delay_s=1))
        changes = {
            "ScorerChain": MODEL,
            "OpenAiBaseUrl": f"{model_url}/v1",
            "ModelTimeout": "4",
            "ScoreConcurrency": "2",
            "ScoreBatchSize": "1",
            "PoolSize": "1",
            "MaxQueueWaitSeconds": "1",
            "PostsPerMinute": str(POSTS),
            "ModelRequestsPerMinute": str(ASKED_A_MINUTE),
        }
        try:
            yield Models(deployment=deploy_beside(deployment, purpose="tight", changes=changes), server=slow)
        finally:
            remove(deployment, purpose="tight")


def test_more_than_can_be_worked_off_is_refused_and_so_is_more_than_a_caller_may_send(tight: Models) -> None:
    def shed() -> Answer | None:
        answer = tight.api.submit(fresh())
        return answer if answer.status == 503 else None

    refused = wait_until(shed, description="the backlog is shed", timeout_s=40)
    assert refused.code == "overloaded"
    assert 1 <= int(refused.headers["retry-after"]) <= 300

    posts = (tight.api.call("POST", "/score", raw=b"no text") for _ in range(3 * POSTS))
    limited = next(answer for answer in posts if answer.status == 429)
    assert limited.code == "rate_limited"
    assert (limited.headers["ratelimit-limit"], limited.headers["ratelimit-remaining"]) == (str(POSTS), "0")
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert tight.api.tasks().status == 200, "who reads is not counted"

    wait_until(lambda: len(tight.server.requests) > 4, description="more was asked than may be at once", timeout_s=30)
    asked_s = [request.started_s for request in tight.server.requests]
    allowed = ASKED_A_MINUTE / 10 + (asked_s[-1] - asked_s[0]) * ASKED_A_MINUTE / 60
    assert len(asked_s) <= allowed + 1
