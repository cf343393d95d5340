"""The events that ship with the project, through the handlers that they are for; so does `make sam-local`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

import images.sweeper
import operations.sweeper
from isolane.api import Api
from isolane.task import UNREVIEWED_S, Claimed, Problem, Status
from tests.application import Application, Context
from tests.doubles.scripted_provider import ScriptedProvider
from tests.environment import clients
from tests.events import Case, cases
from tests.template import FUNCTION, of_type
from tests.world import World

APIS: dict[str, Callable[[Application], Api]] = {
    "scoring-api": lambda app: app.api,
    "operations-api": lambda app: app.operations,
    "reservations-api": lambda app: app.workshops,
    "objects-api": lambda app: app.named_objects,
    "embeddings-api": lambda app: app.embeddings,
    "images-api": lambda app: app.images,
}
QUEUES: dict[str, Callable[[Application, list[dict[str, Any]]], Any]] = {
    "scoring-worker": Application.work,
    "dead-letters": Application.bury,
    "object-alarms": Application.ring,
    "embedding-worker": Application.embed,
}


@pytest.fixture
def app() -> Iterator[Application]:
    with mock_aws():
        made = {
            service: clients.session().client(service, config=clients.CONFIG)
            for service in ("dynamodb", "sqs", "s3", "cloudwatch")
        }
        world = World(made.__getitem__)
        world.make_tables()
        yield Application(world, provider=ScriptedProvider())


@pytest.mark.parametrize("function", of_type(FUNCTION))
def test_every_function_has_two_events_or_more(function: str) -> None:
    assert len([case for case in cases() if case.logical_name == function]) >= 2


@pytest.mark.parametrize("function", APIS)
def test_every_api_has_a_good_event_and_a_bad_one(function: str) -> None:
    good = {case.expected["statusCode"] < 400 for case in cases(function)}
    assert good == {True, False}


@pytest.mark.parametrize("case", [case for name in APIS for case in cases(name)], ids=lambda case: case.name)
def test_an_api_event_gets_its_answer(app: Application, case: Case) -> None:
    answer = APIS[case.function](app)(case.event, Context())
    assert case.differences(answer) == []


@pytest.mark.parametrize("case", [case for name in QUEUES for case in cases(name)], ids=lambda case: case.name)
def test_a_batch_gets_its_answer(app: Application, case: Case) -> None:
    answer = QUEUES[case.function](app, case.event["Records"])
    assert case.differences(answer) == []


@pytest.mark.parametrize("case", cases("sweeper"), ids=lambda case: case.name)
def test_whatever_calls_the_sweeper_it_sweeps(app: Application, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations.sweeper, "_sweeper", lambda: app.sweeper)
    task = app.bindings.tasks.add(
        app.bindings.tasks.new(task_id="a" * 32, kind="score", owner="ann", fingerprint="f" * 64)
    )
    claim = app.bindings.tasks.claim(task.task_id, nonce=task.nonce, until_ms=2**53, max_attempts=1)
    assert isinstance(claim, Claimed)
    app.bindings.tasks.review(claim.task, reason=Problem(code="odd", message="Odd."), provisional=None)
    app.world.clock.advance(UNREVIEWED_S)
    assert case.expected is None
    operations.sweeper.handler(case.event, Context(left_ms=50_000))
    swept = app.bindings.tasks.find(task.task_id)
    assert swept is not None
    assert (swept.status, swept.due) == (Status.FAILED, None)


@pytest.mark.parametrize("case", cases("images-sweeper"), ids=lambda case: case.name)
def test_whatever_calls_the_sweeper_of_pictures_it_sweeps(
    app: Application, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images.sweeper, "_sweeper", lambda: app.image_sweeper)
    app.world.ledger.grant("local", amount=10, grant_id="welcome")
    task_id = app.call("POST", "/images", body={"prompt": "a lighthouse"})["json"]["taskId"]
    app.world.clock.advance(60)
    assert case.expected is None
    images.sweeper.handler(case.event, Context(left_ms=50_000))
    swept = app.bindings.tasks.find(task_id)
    assert swept is not None
    assert swept.status is Status.COMPLETED


def test_a_poison_message_is_put_aside_by_the_worker(app: Application) -> None:
    app.work(Case("scoring-worker.poison").event["Records"])
    letters: Any = app.dead.client.receive_message(QueueUrl=app.dead.url)
    assert [letter["Body"] for letter in letters["Messages"]] == ["{bad"]


def test_a_document_is_embedded_and_a_poison_message_beside_one_put_aside(app: Application) -> None:
    app.embed(Case("embedding-worker.a-document").event["Records"])
    answer = app.call("POST", "/api/embed/search", body={"text": "Rivers shape the land, because water carries soil."})
    assert answer["json"]["matches"] == [{"id": "rivers", "similarity": 1.0}]
    app.embed(Case("embedding-worker.poison").event["Records"])
    letters: Any = app.embed_dead.client.receive_message(QueueUrl=app.embed_dead.url)
    assert [letter["Body"] for letter in letters["Messages"]] == ["{bad"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("dead-letters.with-a-reason", "invalid_json"), ("dead-letters.by-the-backstop", "received_too_often")],
)
def test_a_dead_letter_is_kept_with_its_reason(app: Application, name: str, reason: str) -> None:
    records = Case(name).event["Records"]
    app.bury(records)
    (row,) = app.letters()
    assert (row["reason"], row["body"]) == (reason, records[0]["body"])


def test_an_alarm_of_nobodys_does_nothing_and_one_of_no_kind_is_put_aside(app: Application) -> None:
    for name, aside in (("object-alarms.nobodys", 0), ("object-alarms.of-no-object", 1)):
        assert app.ring(Case(name).event["Records"]) == {"batchItemFailures": []}
        letters: Any = app.failed_alarms.client.receive_message(QueueUrl=app.failed_alarms.url)
        assert len(letters.get("Messages", [])) == aside


SUBMIT = Case("scoring-api.submit")


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({}, None),
        ({"statusCode": 200}, "answer.statusCode is 200, not 202"),
        ({"body": "{}"}, "answer.body.attempt is '(absent)', not 0"),
        ({"headers": {"Location": "somewhere"}}, "answer.headers.Retry-After is '(absent)', not '2'"),
        ({"isBase64Encoded": 0}, "answer.isBase64Encoded is 0, not False"),
        ({"errorMessage": "it broke"}, "answer.errorMessage is 'it broke', not '(absent)'"),
    ],
)
def test_an_answer_that_differs_is_told_by_place(app: Application, change: dict[str, Any], difference: str) -> None:
    answer = app.api(SUBMIT.event, Context())
    differences = SUBMIT.differences({**answer, **change})
    assert difference in differences if difference is not None else differences == []
