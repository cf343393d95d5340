"""What the deployed functions log and count: enough to follow a task, and nothing of its text."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.environment import logs
from tests.environment.deploy import Deployment
from tests.waiting import wait_until


def lines(deployment: Deployment, function: str) -> list[str]:
    """Every line that a function of the stack has logged."""
    url = deployment.emulator.url
    group = logs.log_groups(url, function=function)[function]
    return [line for _, _, message in logs.lines(url, group=group) for line in message.splitlines()]


def parsed(found: list[str]) -> Iterator[dict[str, Any]]:
    for line in found:
        if line.startswith("{"):
            yield json.loads(line)


@pytest.fixture(scope="module")
def scored(api: Client) -> tuple[str, str]:
    """A task that ran, and a word that is in its text and nowhere else."""
    word = f"w{uuid.uuid4().hex}"
    task_id = api.submit(
        f"Rivers shape the {word}, because water carries soil. However, people shape rivers, too."
    ).json["taskId"]
    api.wait(task_id)
    return task_id, word


@pytest.mark.parametrize(("function", "entry"), [("ScoringApi", "api"), ("ScoringWorker", "queue")])
def test_a_task_can_be_followed_by_its_id(
    deployment: Deployment, scored: tuple[str, str], function: str, entry: str
) -> None:
    task_id, _ = scored

    def about_it() -> list[dict[str, Any]]:
        return [line for line in parsed(lines(deployment, function)) if line.get("task_id") == task_id]

    found = wait_until(about_it, description=f"the log of {function} has lines about the task")
    assert {line["entry"] for line in found} == {entry}
    assert all(line["service"] == "isolane" and line["level"] == "INFO" for line in found)


def test_a_line_is_found_by_the_id_that_the_caller_was_told(deployment: Deployment, api: Client) -> None:
    request_id = api.submit(f"Rivers {uuid.uuid4().hex}.").headers["x-request-id"]

    def said() -> list[dict[str, Any]]:
        found = parsed(lines(deployment, "ScoringApi"))
        return [line for line in found if line.get("x_request_id") == request_id]

    assert wait_until(said, description="the log has a line of the request")


@pytest.mark.parametrize(
    ("function", "metrics"),
    [("ScoringApi", {"submitted"}), ("ScoringWorker", {"completed", "queue_wait", "run_time"})],
)
def test_what_happened_is_counted_in_the_embedded_format(
    deployment: Deployment, scored: tuple[str, str], function: str, metrics: set[str]
) -> None:
    def counted() -> set[str]:
        declared = [
            line["_aws"]["CloudWatchMetrics"][0] for line in parsed(lines(deployment, function)) if "_aws" in line
        ]
        assert all(entry["Namespace"] == "isolane" for entry in declared)
        names = {metric["Name"] for entry in declared for metric in entry["Metrics"]}
        return names if names >= metrics else set()

    assert wait_until(counted, description=f"{function} has counted")


@pytest.mark.parametrize("function", ["ScoringApi", "ScoringWorker"])
def test_no_text_of_a_users_is_in_a_log(deployment: Deployment, scored: tuple[str, str], function: str) -> None:
    _, word = scored
    assert lines(deployment, function)
    assert not [line for line in lines(deployment, function) if word in line]


def test_the_command_shows_each_line_once(deployment: Deployment, scored: tuple[str, str]) -> None:
    task_id, _ = scored
    url = deployment.emulator.url
    followed = logs.Followed("ScoringApi", logs.log_groups(url, function="ScoringApi")["ScoringApi"])
    assert any(task_id in line for _, line in followed.fresh(url))
    assert not [line for _, line in followed.fresh(url) if task_id in line]
