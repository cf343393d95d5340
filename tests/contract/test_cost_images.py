"""What pictures and credits cost in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import Application
from tests.counting import Counted, counted, spent
from tests.doubles.scripted_provider import MADE, NOT_MADE, WORKING, ScriptedProvider
from tests.world import World


@pytest.fixture
def app(moto_world: World) -> Application:
    moto_world.ledger.grant("local", amount=1_000, grant_id="welcome")
    return Application(moto_world, provider=ScriptedProvider(stages=(WORKING, WORKING, MADE)))


@pytest.fixture
def calls(app: Application) -> Iterator[Counted]:
    with counted(app.world.client("dynamodb"), app.world.client("s3")) as counter:
        yield counter


def submitted(app: Application, **headers: str) -> str:
    return str(app.call("POST", "/images", body={"prompt": "a lighthouse"}, headers=headers)["json"]["taskId"])


def polled(app: Application, task_id: str) -> str:
    app.world.clock.advance(2)
    return str(app.call("GET", f"/images/{task_id}")["json"]["status"])


def test_an_order_is_two_calls_and_its_replay_one(app: Application, calls: Counted) -> None:
    headers = {"Idempotency-Key": "lighthouse"}
    submitted(app, **headers)
    assert spent(calls) == ["TransactWriteItems", "UpdateItem"]
    submitted(app, **headers)
    assert spent(calls) == ["TransactWriteItems"]


def test_a_poll_is_one_call_and_one_more_where_something_has_changed(app: Application, calls: Counted) -> None:
    task_id = submitted(app)
    spent(calls)
    assert polled(app, task_id) == "processing"
    assert spent(calls) == ["UpdateItem", "UpdateItem"]
    assert polled(app, task_id) == "processing"
    assert spent(calls) == ["UpdateItem"]
    app.call("GET", f"/images/{task_id}")
    assert spent(calls) == ["UpdateItem"], "within two seconds nobody is asked"
    assert polled(app, task_id) == "completed"
    assert spent(calls) == ["UpdateItem", "PutObject", "UpdateItem"]
    assert polled(app, task_id) == "completed"
    assert spent(calls) == ["UpdateItem"], "a link is made without a call"


def test_a_refund_is_one_call(moto_world: World) -> None:
    moto_world.ledger.grant("local", amount=1_000, grant_id="welcome")
    app = Application(moto_world, provider=ScriptedProvider(stages=(NOT_MADE,)))
    task_id = submitted(app)
    with counted(moto_world.client("dynamodb")) as calls:
        assert polled(app, task_id) == "failed"
        assert spent(calls) == ["UpdateItem", "TransactWriteItems"]


def test_a_cancellation_is_one_call_more_than_that_of_a_text(app: Application, calls: Counted) -> None:
    task_id = submitted(app)
    spent(calls)
    app.call("DELETE", f"/tasks/{task_id}")
    assert spent(calls) == ["UpdateItem", "TransactWriteItems"]


def test_no_page_costs_more_for_what_is_there(app: Application, calls: Counted) -> None:
    for _ in range(30):
        submitted(app)
        app.world.clock.advance(1)
    spent(calls)
    assert len(app.call("GET", "/images")["json"]["images"]) == 20
    assert spent(calls) == ["Query", "BatchGetItem"]
    assert len(app.call("GET", "/credits")["json"]["entries"]) == 20
    assert spent(calls) == ["Query"]
