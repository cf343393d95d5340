"""The events that ship with the project, through the handlers that they are for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

import operations.api
import operations.sweeper
from isolane.api import Api
from isolane.task import UNREVIEWED_S, Claimed, Problem, Status
from tests.application import Application, Context
from tests.environment import clients
from tests.environment.places import ROOT
from tests.world import World

EVENTS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "events").glob("*.json"))}
CODES = {
    "scoring-api.no-text": (400, "text_required"),
    "scoring-api.bad-json": (400, "invalid_json"),
    "scoring-api.unknown-task": (404, "task_not_found"),
    "operations-api.nowhere": (404, "not_found"),
    "operations-api.bad-verdict": (400, "invalid_request"),
    "reservations-api.too-many-seats": (400, "invalid_reservation"),
    "reservations-api.bad-name": (400, "invalid_workshop_name"),
    "objects-api.nobody": (400, "invalid_request"),
}
APIS: dict[str, Callable[[Application], Api]] = {
    "scoring-api": lambda app: app.api,
    "operations-api": lambda app: operations.api.build(app.bindings),
    "reservations-api": lambda app: app.workshops,
    "objects-api": lambda app: app.named_objects,
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
        yield Application(world)


def of(function: str) -> list[str]:
    return [name for name in EVENTS if name.startswith(f"{function}.")]


def test_every_function_has_a_good_event_and_a_bad_one() -> None:
    functions = {name.partition(".")[0] for name in EVENTS}
    assert functions == {*APIS, "scoring-worker", "dead-letters", "sweeper", "object-alarms"}
    assert all(len(of(function)) >= 2 for function in functions)


@pytest.mark.parametrize("name", [name for function in APIS for name in of(function)])
def test_an_api_event_gets_its_answer(app: Application, name: str) -> None:
    api = APIS[name.partition(".")[0]](app)
    answer = api(EVENTS[name], Context())
    if name in CODES:
        assert (answer["statusCode"], json.loads(answer["body"])["error"]) == CODES[name]
    else:
        assert answer["statusCode"] in {200, 201, 202}


@pytest.mark.parametrize("name", of("sweeper"))
def test_whatever_calls_the_sweeper_it_sweeps(app: Application, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations.sweeper, "_sweeper", lambda: app.sweeper)
    task = app.bindings.tasks.add(
        app.bindings.tasks.new(task_id="a" * 32, kind="score", owner="ann", fingerprint="f" * 64)
    )
    claim = app.bindings.tasks.claim(task.task_id, nonce=task.nonce, until_ms=2**53, max_attempts=1)
    assert isinstance(claim, Claimed)
    app.bindings.tasks.review(claim.task, reason=Problem(code="odd", message="Odd."), provisional=None)
    app.world.clock.advance(UNREVIEWED_S)
    operations.sweeper.handler(EVENTS[name], Context(left_ms=50_000))
    swept = app.bindings.tasks.find(task.task_id)
    assert swept is not None
    assert (swept.status, swept.due) == (Status.FAILED, None)


def test_a_worker_drops_a_message_that_is_nobodys_and_old(app: Application) -> None:
    assert app.work(EVENTS["scoring-worker.nobodys-message"]["Records"]) == {"batchItemFailures": []}


def test_a_poison_message_is_put_aside_by_the_worker(app: Application) -> None:
    assert app.work(EVENTS["scoring-worker.poison"]["Records"]) == {"batchItemFailures": []}
    letters: Any = app.dead.client.receive_message(QueueUrl=app.dead.url)
    assert [letter["Body"] for letter in letters["Messages"]] == ["{bad"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("dead-letters.with-a-reason", "invalid_json"), ("dead-letters.by-the-backstop", "received_too_often")],
)
def test_a_dead_letter_is_kept_with_its_reason(app: Application, name: str, reason: str) -> None:
    app.bury(EVENTS[name]["Records"])
    (row,) = app.letters()
    assert (row["reason"], row["body"]) == (reason, EVENTS[name]["Records"][0]["body"])


def test_an_alarm_of_nobodys_does_nothing_and_one_of_no_kind_is_put_aside(app: Application) -> None:
    for name, aside in (("object-alarms.nobodys", 0), ("object-alarms.of-no-object", 1)):
        assert app.ring(EVENTS[name]["Records"]) == {"batchItemFailures": []}
        letters: Any = app.failed_alarms.client.receive_message(QueueUrl=app.failed_alarms.url)
        assert len(letters.get("Messages", [])) == aside
