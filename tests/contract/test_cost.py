"""What an operation costs in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.application import Application
from tests.counting import Counted, counted
from tests.environment import clients
from tests.world import World, receive

TEXT = {"text": "Rivers shape the land, because water carries soil."}


@pytest.fixture
def app() -> Iterator[Application]:
    with mock_aws():
        made = {
            service: clients.session().client(service, config=clients.CONFIG) for service in ("dynamodb", "sqs", "s3")
        }
        world = World(made.__getitem__)
        world.make_tables()
        yield Application(world)


@pytest.fixture
def calls(app: Application) -> Iterator[Counted]:
    with counted(*map(app.world.client, ("dynamodb", "sqs", "s3"))) as counter:
        yield counter


def spent(calls: Counted) -> list[str]:
    operations, calls.operations = calls.operations, []
    return operations


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_submit_is_three_calls(app: Application, calls: Counted, headers: dict[str, str]) -> None:
    app.call("POST", "/score", body=TEXT, headers=headers)
    assert spent(calls) == ["BatchGetItem", "SendMessage", "PutItem"]


def test_submit_from_the_cache_is_two(app: Application, calls: Counted) -> None:
    app.call("POST", "/score", body=TEXT)
    app.deliver()
    spent(calls)
    assert app.call("POST", "/score", body=TEXT)["statusCode"] == 200
    assert spent(calls) == ["BatchGetItem", "PutItem"]


def test_a_replay_is_one(app: Application, calls: Counted) -> None:
    app.call("POST", "/score", body=TEXT, headers={"Idempotency-Key": "k"})
    spent(calls)
    app.call("POST", "/score", body=TEXT, headers={"Idempotency-Key": "k"})
    assert spent(calls) == ["BatchGetItem"]


def test_a_poll_is_one(app: Application, calls: Counted) -> None:
    task_id = app.call("POST", "/score", body=TEXT)["json"]["taskId"]
    spent(calls)
    assert app.call("GET", "/result", query={"taskId": task_id})["statusCode"] == 200
    assert spent(calls) == ["GetItem"]


def test_a_page_is_two(app: Application, calls: Counted) -> None:
    for _ in range(3):
        app.call("POST", "/score", body=TEXT)
    spent(calls)
    assert len(app.call("GET", "/tasks")["json"]["tasks"]) == 3
    assert spent(calls) == ["Query", "BatchGetItem"]


def test_a_cancel_is_one(app: Application, calls: Counted) -> None:
    task_id = app.call("POST", "/score", body=TEXT)["json"]["taskId"]
    spent(calls)
    assert app.call("DELETE", f"/tasks/{task_id}")["statusCode"] == 202
    assert spent(calls) == ["UpdateItem"]


def test_a_message_is_scored_with_three(app: Application, calls: Counted) -> None:
    app.call("POST", "/score", body=TEXT)
    records = receive(app.queue)
    spent(calls)
    assert app.work(records) == {"batchItemFailures": []}
    assert spent(calls) == ["UpdateItem", "UpdateItem", "PutItem"]


def test_a_caller_is_looked_up_once_a_minute(app: Application, calls: Counted) -> None:
    token = app.bindings.callers.issue("ann", roles=["user"])
    spent(calls)
    for _ in range(3):
        app.call("GET", "/tasks", headers={"Authorization": f"Bearer {token}"})
    assert spent(calls) == ["GetItem", "Query", "Query", "Query"]
