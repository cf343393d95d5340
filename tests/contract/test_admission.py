"""Who may call a model, on every backend that has queues: breaker and permit before the claim, and no attempt spent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isolane.circuit import Circuit, Closed
from isolane.model_errors import ModelBusy, ModelRefused
from isolane.permits import Permits
from isolane.rate_limit import RateLimit
from scoring.rated import RatedModel
from scoring.scorers import BuiltinScorer, ModelScorer
from tests.application import Application
from tests.doubles.scripted_model import ScriptedModel, saying, verdict
from tests.world import World, receive

NAME = "openai:a"


def says(score: int) -> str:
    return json.dumps(verdict(score))


def application(
    world: World, *answers: Any, builtin: bool = False, **changes: str
) -> tuple[Application, ScriptedModel]:
    model = saying(*answers)
    scorers = (ModelScorer(NAME, model), *((BuiltinScorer(),) if builtin else ()))
    return Application(world, scorers=scorers, changes={"MODEL_CONCURRENCY": "1", **changes}), model


def submit(app: Application, text: str = "Rivers shape the land.") -> tuple[str, dict[str, Any]]:
    """A task, and its message as it was delivered."""
    task_id = app.call("POST", "/score", body={"text": text})["json"]["taskId"]
    own = [record for record in receive(app.queue) if task_id in record["body"]]  # others may be back by now
    return task_id, own[0]


def task(app: Application, task_id: str) -> Any:
    return app.call("GET", "/result", query={"taskId": task_id})["json"]


def comes_again(app: Application, record: dict[str, Any]) -> bool:
    return bool(app.work([record])["batchItemFailures"])


def test_a_task_that_finds_no_permit_two_hundred_times_still_has_all_its_attempts(whole_world: World) -> None:
    app, model = application(whole_world, says(70))
    permits: Permits = app.bindings.permits
    other = permits.acquire(NAME, holder="somebody", lease_s=10_000, limit=1)
    assert other is not None
    task_id, record = submit(app)
    assert all(comes_again(app, record) for _ in range(200))
    assert (task(app, task_id)["attempt"], len(model.prompts)) == (0, 0)
    permits.release(other)
    assert not comes_again(app, record)
    assert (task(app, task_id)["attempt"], task(app, task_id)["score"]) == (1, 70)


def test_a_model_is_asked_no_oftener_than_its_rate_and_waiting_for_it_costs_no_attempt(whole_world: World) -> None:
    model = saying(says(70))
    rate = RateLimit(whole_world.values.table, limit=10, period_s=60, burst=1, clock=whole_world.clock)
    scorer = ModelScorer(NAME, RatedModel(name=NAME, model=model, rate=rate))
    app = Application(whole_world, scorers=(scorer,))
    tasks = [submit(app, f"Rivers shape land {number}.") for number in range(2)]
    assert [comes_again(app, record) for _, record in tasks] == [False, True]
    assert (task(app, tasks[1][0])["attempt"], len(model.prompts)) == (0, 1)
    assert app.bindings.breaker.check(NAME) == Closed(), "nobody is to blame"
    whole_world.clock.advance(6)
    assert not comes_again(app, tasks[1][1])
    assert (task(app, tasks[1][0])["attempt"], task(app, tasks[1][0])["score"]) == (1, 70)


def test_a_repair_that_may_not_be_asked_for_yet_is_nobodys_failure(whole_world: World) -> None:
    model = saying("no JSON")
    rate = RateLimit(whole_world.values.table, limit=10, period_s=60, burst=1, clock=whole_world.clock)
    app = Application(whole_world, scorers=(ModelScorer(NAME, RatedModel(name=NAME, model=model, rate=rate)),))
    _, record = submit(app)
    assert comes_again(app, record)
    assert len(model.prompts) == 1
    assert app.bindings.breaker.find(NAME) == Circuit()


def test_what_was_put_off_says_nothing_of_the_pace(whole_world: World) -> None:
    rate = RateLimit(whole_world.values.table, limit=10, period_s=60, burst=1, clock=whole_world.clock)
    rate.take(f"model#{NAME}")
    scorer = ModelScorer(NAME, RatedModel(name=NAME, model=saying(says(70)), rate=rate))
    app = Application(whole_world, scorers=(scorer,), changes={"MAX_QUEUE_WAIT_SECONDS": "60"})
    _, record = submit(app)
    assert comes_again(app, record)
    assert app.bindings.values.get("pace#score") is None
    whole_world.clock.advance(6)
    assert not comes_again(app, record)
    assert app.bindings.values.get("pace#score") is not None


def test_the_permit_is_back_however_the_call_ended(whole_world: World) -> None:
    app, _ = application(whole_world, says(70), ModelRefused(), ModelBusy(), RuntimeError("a bug"))
    for number in range(4):
        _, record = submit(app, text=f"Text {number}.")
        app.work([record])
        assert app.bindings.permits.holders(NAME) == []


def test_failures_open_the_breaker_and_the_next_task_waits_with_all_its_attempts(whole_world: World) -> None:
    app, model = application(whole_world, *[ModelBusy()] * 5, says(60))
    failing = [submit(app, text=f"Text {number}.")[1] for number in range(5)]
    assert all(comes_again(app, record) for record in failing)
    task_id, record = submit(app)
    whole_world.clock.advance(2)  # what a process knows of a breaker is a second old at most
    assert comes_again(app, record)
    assert (task(app, task_id)["attempt"], len(model.prompts)) == (0, 5)
    whole_world.clock.advance(120)
    assert not comes_again(app, record), "the probe"
    assert task(app, task_id)["score"] == 60


def test_a_providers_own_retry_after_holds_for_everybody(whole_world: World) -> None:
    app, model = application(whole_world, ModelBusy(retry_after_s=30), says(60))
    _, first = submit(app, text="The first.")
    assert comes_again(app, first)
    task_id, record = submit(app)
    whole_world.clock.advance(29)
    assert comes_again(app, record)
    assert (task(app, task_id)["attempt"], len(model.prompts)) == (0, 1)
    whole_world.clock.advance(2)
    assert not comes_again(app, record)


def test_where_the_first_may_not_be_called_the_next_one_answers_at_once(whole_world: World) -> None:
    app, model = application(whole_world, ModelBusy(retry_after_s=600), builtin=True)
    first_id, first = submit(app, text="The first.")
    assert not comes_again(app, first)
    assert task(app, first_id)["model"] == "builtin-rubric"
    whole_world.clock.advance(2)
    second_id, second = submit(app, text="The second.")
    assert not comes_again(app, second)
    assert (task(app, second_id)["model"], len(model.prompts)) == ("builtin-rubric", 1)


def test_without_a_limit_there_is_no_semaphore(whole_world: World) -> None:
    app, _ = application(whole_world, says(70), MODEL_CONCURRENCY="0")
    _, record = submit(app)
    assert not comes_again(app, record)
    assert app.bindings.permits.find(NAME) is None


@pytest.mark.parametrize("posts", ["2"])
def test_posts_are_limited_by_caller_and_route(whole_world: World, posts: str) -> None:
    app, _ = application(whole_world, says(70), POSTS_PER_MINUTE=posts)
    answers = [app.call("POST", "/score", body={"text": f"Text {number}."}) for number in range(3)]
    assert [answer["statusCode"] for answer in answers] == [202, 202, 429]
    refused = answers[-1]
    assert refused["json"]["error"] == "rate_limited"
    assert refused["headers"]["RateLimit-Limit"] == "2"
    assert refused["headers"]["RateLimit-Remaining"] == "0"
    assert 1 <= int(refused["headers"]["RateLimit-Reset"]) <= 60
    assert 1 <= int(refused["headers"]["Retry-After"]) <= 30
    token = app.bindings.callers.issue("ann", roles=["user"])
    other = app.call("POST", "/score", body={"text": "Text."}, headers={"Authorization": f"Bearer {token}"})
    assert other["statusCode"] == 202
    assert app.call("GET", "/tasks")["statusCode"] == 200
