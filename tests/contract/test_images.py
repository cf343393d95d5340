"""A picture from the order to its end, through the API and the sweeper: paid once, and delivered or paid back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from images.generations import key_of
from images.provider import NoPicture
from images.rated import RatedProvider
from isolane.deadline import Deadline
from isolane.errors import Unavailable, Unreachable
from isolane.model_errors import ModelBusy, ModelRejected
from isolane.model_rate import may_ask
from isolane.rate_limit import RateLimit
from isolane.task import PAID_RESULT_S, Problem, Task
from tests.application import Application
from tests.doubles.scripted_provider import (
    MADE,
    NOT_MADE,
    PICTURE,
    UNKNOWN,
    WAITING,
    WORKING,
    ScriptedProvider,
    made,
    refusing,
)
from tests.world import World

Outcome = tuple[str, str | None, int]
"""Status, code of its error, and the owner's balance."""


@pytest.fixture
def world(whole_client: Callable[[str], Any]) -> Iterator[World]:
    world = World(whole_client)
    world.make_tables()
    world.ledger.grant("local", amount=100, grant_id="welcome")
    world.clock.advance(1)
    yield world
    world.remove_tables()


def application(world: World, provider: ScriptedProvider, **changes: str) -> Application:
    return Application(world, provider=provider, changes=changes)


def submit(app: Application, *, prompt: str = "a lighthouse", key: str | None = None) -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return dict(app.call("POST", "/images", body={"prompt": prompt}, headers=headers))


def poll(app: Application, task_id: str, *, after_s: float = 2) -> dict[str, Any]:
    app.world.clock.advance(after_s)
    answer = app.call("GET", f"/images/{task_id}")
    assert answer["statusCode"] == 200
    return dict(answer["json"])


def sweep(app: Application, *, after_s: float = 60) -> None:
    app.world.clock.advance(after_s)
    app.sweep_images()


def outcome(app: Application, task_id: str) -> Outcome:
    task = stored(app, task_id)
    account = app.call("GET", "/credits")["json"]
    assert account["balance"] == sum(entry["credits"] for entry in account["entries"]) >= 0
    return str(task.status), task.error.code if task.error is not None else None, account["balance"]


def stored(app: Application, task_id: str) -> Task:
    task = app.bindings.tasks.find(task_id)
    assert task is not None
    return task


def picture_of(app: Application, task_id: str) -> bytes:
    s3 = app.world.client("s3")
    found = s3.get_object(Bucket=app.world.bucket_name, Key=key_of(stored(app, task_id)))
    return bytes(found["Body"].read())


def pictures(app: Application) -> int:
    return int(app.world.client("s3").list_objects_v2(Bucket=app.world.bucket_name).get("KeyCount", 0))


# The way of a picture


def test_a_picture_is_paid_for_asked_about_and_delivered(world: World) -> None:
    provider = ScriptedProvider(stages=(WAITING, WORKING, WORKING, MADE))
    app = application(world, provider)
    answer = submit(app)
    task_id = answer["json"]["taskId"]
    assert answer["statusCode"] == 202
    assert answer["headers"]["Location"] == f"images/{task_id}"
    assert answer["headers"]["Retry-After"] == "2"
    assert (answer["json"]["kind"], answer["json"]["prompt"]) == ("image", "a lighthouse")
    assert [poll(app, task_id)["status"] for _ in range(3)] == ["pending", "processing", "processing"]
    done = poll(app, task_id)
    assert (done["status"], done["result"]) == ("completed", {"contentType": "image/png", "width": 2, "height": 2})
    assert "Signature=" in done["imageUrl"]
    assert key_of(stored(app, task_id)) in done["imageUrl"]
    assert picture_of(app, task_id) == PICTURE
    assert outcome(app, task_id) == ("completed", None, 90)
    assert len(provider.submitted) == 1
    assert "imageUrl" in poll(app, task_id)
    assert len(provider.asked) == 4, "what is finished is not asked about"


def test_the_provider_is_asked_once_in_two_seconds_whatever_the_number_of_pollers(world: World) -> None:
    provider = ScriptedProvider(stages=(WORKING,))
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    for _ in range(10):
        poll(app, task_id, after_s=0.5)
    assert len(provider.asked) == 3, "at once, and each two seconds: in 5 seconds three times"


def test_without_pollers_the_sweeper_does_the_same(world: World) -> None:
    app = application(world, ScriptedProvider(stages=(WAITING, WORKING, MADE)))
    task_id = submit(app)["json"]["taskId"]
    seen = []
    for _ in range(3):
        sweep(app)
        seen.append(str(stored(app, task_id).status))
    assert seen == ["pending", "processing", "completed"]
    assert picture_of(app, task_id) == PICTURE
    assert outcome(app, task_id) == ("completed", None, 90)


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        (NOT_MADE, "generation_failed"),
        (made(b"<html>"), "picture_invalid"),
        (made(NoPicture(Problem(code="picture_gone", message="It is gone."))), "picture_gone"),
    ],
)
@pytest.mark.parametrize("polled", [True, False], ids=["polled", "swept"])
def test_whatever_is_no_picture_is_paid_back(world: World, stage: Any, code: str, *, polled: bool) -> None:
    app = application(world, ScriptedProvider(stages=(stage,)))
    task_id = submit(app)["json"]["taskId"]
    if polled:
        poll(app, task_id)
    else:
        sweep(app)
    assert outcome(app, task_id) == ("failed", code, 100)
    assert pictures(app) == 0
    entries = app.call("GET", "/credits")["json"]["entries"]
    assert [(entry["id"], entry["reason"]) for entry in entries[:2]] == [
        (f"refund#{task_id}", code),
        (f"charge#{task_id}", "image"),
    ]


def test_a_prompt_that_is_refused_is_paid_back_at_once(world: World) -> None:
    app = application(world, refusing())
    answer = submit(app)
    assert (answer["statusCode"], answer["json"]["error"]["code"]) == (202, "refused")
    assert "Retry-After" not in answer["headers"]
    assert outcome(app, answer["json"]["taskId"]) == ("failed", "refused", 100)


def test_what_the_provider_has_lost_is_paid_back_but_not_at_the_first_look(world: World) -> None:
    app = application(world, ScriptedProvider(stages=(UNKNOWN,)))
    task_id = submit(app)["json"]["taskId"]
    assert poll(app, task_id)["status"] == "pending"
    assert poll(app, task_id, after_s=15)["status"] == "failed"
    assert outcome(app, task_id) == ("failed", "lost", 100)
    sweep(app)
    assert stored(app, task_id).due is None, "it is looked for once more"
    assert len(app.provider.asked) == 3  # type: ignore[union-attr]  # the one of this test


@pytest.mark.parametrize("trouble", [Unreachable(), ModelBusy(), ModelRejected()])
def test_a_provider_that_cannot_take_it_now_is_asked_again_under_the_same_key(world: World, trouble: Any) -> None:
    provider = ScriptedProvider(submits=(trouble, trouble, None))
    app = application(world, provider)
    answer = submit(app)
    assert answer["statusCode"] == 202
    task_id = answer["json"]["taskId"]
    poll(app, task_id, after_s=15)
    sweep(app)
    poll(app, task_id)
    assert outcome(app, task_id) == ("completed", None, 90)
    assert len({job.key for job in provider.submitted}) == 1
    assert len(provider.submitted) == 3


def test_however_many_poll_it_is_handed_over_by_one_and_less_and_less_often(world: World) -> None:
    provider = ScriptedProvider(submits=(Unreachable(),))
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    seen = []
    for _ in range(300):
        poll(app, task_id, after_s=1)
        poll(app, task_id, after_s=1)
        seen.append(len(provider.submitted))
    assert seen[5:6] + seen[17:18] + seen[41:42] + seen[89:90] == [2, 3, 4, 5], "after 12, 36, 84 and 180 seconds"
    assert seen[-1] == 8


def test_a_provider_is_left_alone_for_as_long_as_it_asks_for(world: World) -> None:
    provider = ScriptedProvider(stages=(ModelBusy(retry_after_s=30), MADE))
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    assert poll(app, task_id)["status"] == "pending"
    assert poll(app, task_id, after_s=29)["status"] == "pending"
    assert len(provider.asked) == 1
    assert poll(app, task_id, after_s=1)["status"] == "completed"


def test_a_provider_is_spoken_to_no_oftener_than_it_allows(world: World) -> None:
    provider = ScriptedProvider(stages=(WORKING, MADE))
    rate = RateLimit(world.values.table, limit=20, period_s=60.0, burst=1, clock=world.clock)
    rated = RatedProvider(provider=provider, may_ask=may_ask("replicate:somebody/something", rate=rate))
    app = Application(world, provider=rated)
    task_id = submit(app)["json"]["taskId"]
    assert len(provider.submitted) == 1
    assert [poll(app, task_id)["status"] for _ in range(4)] == ["pending", "processing", "processing", "completed"]
    assert len(provider.asked) == 2, "once in three seconds"


def test_who_has_paid_is_told_the_task_whatever_fails_then(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(world, ScriptedProvider())
    with monkeypatch.context() as patch:
        patch.setattr("isolane.paid_tasks.PaidTasks.submitted", _unavailable)
        answer = submit(app)
    assert (answer["statusCode"], answer["json"]["status"]) == (202, "pending")
    assert poll(app, answer["json"]["taskId"], after_s=12)["status"] == "pending", "it is handed over again"
    assert poll(app, answer["json"]["taskId"])["status"] == "completed"
    assert outcome(app, answer["json"]["taskId"])[2] == 90


@pytest.mark.parametrize("task_id", ["x" * 65, "x" * 3_000, "\u00e4"])
def test_what_can_be_no_id_is_not_found(world: World, task_id: str) -> None:
    app = application(world, ScriptedProvider())
    assert app.call("GET", f"/images/{task_id}")["statusCode"] == 404
    assert app.call("GET", f"/api/embed/batches/{task_id}")["statusCode"] == 404


def test_a_reviewer_does_not_end_an_overdue_picture(world: World) -> None:
    app = application(world, ScriptedProvider(stages=(WAITING,)))
    task_id = submit(app)["json"]["taskId"]
    world.clock.advance(600)
    answer = app.call("POST", f"/admin/reviews/{task_id}", body={"score": 50, "comments": ["No."]})
    assert (answer["statusCode"], answer["json"]["error"]) == (409, "review_not_taken")
    assert stored(app, task_id).status == "pending"


def test_a_provider_that_never_takes_it_is_given_up_and_it_is_paid_back(world: World) -> None:
    app = application(world, ScriptedProvider(submits=(Unreachable(),)))
    task_id = submit(app)["json"]["taskId"]
    sweep(app, after_s=600)
    assert outcome(app, task_id) == ("failed", "not_started", 100)


def test_a_provider_that_never_ends_is_given_up_and_it_is_paid_back(world: World) -> None:
    app = application(world, ScriptedProvider(stages=(WORKING,)))
    task_id = submit(app)["json"]["taskId"]
    poll(app, task_id)
    sweep(app, after_s=1800)
    assert outcome(app, task_id) == ("failed", "timed_out", 100)


@pytest.mark.parametrize("trouble", [Unreachable(), ModelBusy()])
def test_a_picture_that_cannot_be_fetched_now_is_fetched_later(world: World, trouble: Any) -> None:
    app = application(world, ScriptedProvider(stages=(made(trouble), MADE)))
    task_id = submit(app)["json"]["taskId"]
    assert poll(app, task_id)["status"] == "pending"
    assert poll(app, task_id)["status"] == "completed"


def test_a_picture_that_cannot_be_stored_now_is_stored_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(world, ScriptedProvider())
    task_id = submit(app)["json"]["taskId"]
    with monkeypatch.context() as patch:
        patch.setattr("isolane.aws.bucket.Bucket.put", _unavailable)
        assert poll(app, task_id)["status"] == "pending"
    assert poll(app, task_id)["status"] == "completed"
    assert picture_of(app, task_id) == PICTURE


def _unavailable(*_: Any, **__: Any) -> None:
    raise Unavailable


# Two at once


def test_what_is_canceled_while_it_is_handed_over_is_stopped_at_the_provider(world: World) -> None:
    provider = ScriptedProvider()
    app = application(world, provider)
    handing_over = provider.submit

    def canceled_meanwhile(job: Any, *, deadline: Any) -> str:
        (task,) = app.call("GET", "/images")["json"]["images"]
        assert app.call("DELETE", f"/tasks/{task['taskId']}")["statusCode"] == 202
        return handing_over(job, deadline=deadline)

    provider.submit = canceled_meanwhile  # type: ignore[method-assign]  # so that it happens in between
    answer = submit(app)
    assert (answer["statusCode"], answer["json"]["status"]) == (202, "canceled")
    assert len(provider.canceled) == 1
    assert outcome(app, answer["json"]["taskId"]) == ("canceled", None, 100)


def test_a_second_prediction_of_one_who_heeds_no_keys_is_stopped(world: World) -> None:
    provider = ScriptedProvider(heeds_keys=False, stages=(WORKING,))
    app = application(world, provider)
    task = stored(app, submit(app)["json"]["taskId"])
    again = app.generations.hand_over(replace(task, prediction_id=None), deadline=Deadline.after(5))
    assert again.prediction_id == task.prediction_id
    assert provider.canceled == [provider.predictions[task.nonce][1]]


def test_a_success_after_a_cancellation_is_noted_and_neither_charged_nor_delivered(world: World) -> None:
    provider = ScriptedProvider(stages=(WORKING, MADE))
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    poll(app, task_id)
    assert app.call("DELETE", f"/tasks/{task_id}")["statusCode"] == 202
    sweep(app)
    assert stored(app, task_id).late_success_at_ms is not None
    assert outcome(app, task_id) == ("canceled", None, 100)
    assert "imageUrl" not in poll(app, task_id)
    assert pictures(app) == 0
    sweep(app)
    assert len(provider.asked) == 2, "it is looked at once more, and then left alone"


def test_what_is_given_up_is_stopped_at_the_provider_and_let_go(world: World) -> None:
    provider = ScriptedProvider(stages=(WORKING, WORKING, NOT_MADE))
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    poll(app, task_id)
    app.call("DELETE", f"/tasks/{task_id}")
    sweep(app)
    assert len(provider.canceled) == 1
    sweep(app)
    sweep(app)
    assert len(provider.asked) == 3
    assert stored(app, task_id).late_success_at_ms is None
    assert outcome(app, task_id) == ("canceled", None, 100)


def test_a_picture_that_is_canceled_while_it_is_fetched_is_not_delivered(world: World) -> None:
    provider = ScriptedProvider()
    app = application(world, provider)
    task_id = submit(app)["json"]["taskId"]
    copy = stored(app, task_id)
    app.call("DELETE", f"/tasks/{task_id}")
    late = app.generations.carry_on(copy, deadline=Deadline.after(5))
    assert (late.status, late.late_success_at_ms is not None) == ("canceled", True)
    assert outcome(app, task_id) == ("canceled", None, 100)


def test_a_success_that_comes_after_its_key_was_used_again_is_not_noted_there(world: World) -> None:
    app = application(world, ScriptedProvider())
    task_id = submit(app, key="lighthouse-1")["json"]["taskId"]
    copy = stored(app, task_id)
    app.call("DELETE", f"/tasks/{task_id}")
    world.clock.advance(PAID_RESULT_S)
    assert submit(app, prompt="a windmill", key="lighthouse-1")["json"]["taskId"] == task_id
    app.call("DELETE", f"/tasks/{task_id}")
    app.generations.carry_on(copy, deadline=Deadline.after(5))
    assert (stored(app, task_id).prompt, stored(app, task_id).late_success_at_ms) == ("a windmill", None)


# What callers see


def test_too_few_credits_are_said_with_the_balance_and_nothing_happens(world: World) -> None:
    provider = ScriptedProvider()
    app = application(world, provider, IMAGE_PRICE="101")
    answer = submit(app)
    assert answer["statusCode"] == 402
    assert answer["json"] == {
        "error": "insufficient_credits",
        "message": "The credits do not cover the price.",
        "balance": 100,
    }
    assert app.call("GET", "/images")["json"]["images"] == []
    assert provider.submitted == []


def test_the_same_key_is_the_same_picture_and_one_charge(world: World) -> None:
    provider = ScriptedProvider()
    app = application(world, provider)
    first = submit(app, key="lighthouse-1")
    again = submit(app, key="lighthouse-1")
    assert again["statusCode"] == 202
    assert again["headers"]["Idempotent-Replayed"] == "true"
    assert again["json"]["taskId"] == first["json"]["taskId"]
    assert len(provider.submitted) == 1
    assert outcome(app, first["json"]["taskId"])[2] == 90
    other = submit(app, prompt="a windmill", key="lighthouse-1")
    assert (other["statusCode"], other["json"]["error"]) == (422, "idempotency_mismatch")
    poll(app, first["json"]["taskId"])
    done = submit(app, key="lighthouse-1")
    assert (done["statusCode"], done["json"]["status"]) == (200, "completed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "prompt_required"),
        ({"prompt": ""}, 400, "prompt_required"),
        ({"prompt": " \u200b\n"}, 400, "prompt_required"),
        ({"prompt": "\U000e0020"}, 400, "prompt_required"),
        ({"prompt": None}, 400, "prompt_required"),
        ({"prompt": 7}, 400, "invalid_request"),
        ({"prompt": "x", "callbackUrl": "https://example.com"}, 400, "invalid_request"),
        ({"prompt": "x" * 2_001}, 413, "text_too_long"),
        ([], 400, "invalid_request"),
    ],
)
def test_what_is_no_order_is_refused_and_costs_nothing(world: World, body: Any, status: int, code: str) -> None:
    app = application(world, ScriptedProvider())
    answer = app.call("POST", "/images", body=body)
    assert (answer["statusCode"], answer["json"]["error"]) == (status, code)
    assert app.call("GET", "/credits")["json"]["balance"] == 100


def test_the_longest_prompt_is_taken(world: World) -> None:
    assert submit(application(world, ScriptedProvider()), prompt="x" * 2_000)["statusCode"] == 202


def test_the_history_has_the_running_ones_too_newest_first_and_asks_nobody(world: World) -> None:
    provider = ScriptedProvider(stages=(MADE, WORKING))
    app = application(world, provider)
    ids = []
    for prompt in ("one", "two", "three"):
        ids.append(submit(app, prompt=prompt)["json"]["taskId"])
        world.clock.advance(1)
    poll(app, ids[0])
    asked = len(provider.asked)
    first = app.call("GET", "/images", query={"limit": "2"})["json"]
    second = app.call("GET", "/images", query={"limit": "2", "cursor": first["cursor"]})["json"]
    shown = [(task["prompt"], task["status"]) for task in (*first["images"], *second["images"])]
    assert shown == [("three", "pending"), ("two", "pending"), ("one", "completed")]
    assert "imageUrl" in second["images"][0]
    assert second["cursor"] is None
    assert len(provider.asked) == asked
    assert [task["taskId"] for task in app.call("GET", "/tasks", query={"kind": "image"})["json"]["tasks"]] == ids[::-1]


def test_everybody_sees_their_own(world: World) -> None:
    app = application(world, ScriptedProvider())
    task_id = submit(app)["json"]["taskId"]
    bob = {"Authorization": f"Bearer {app.bindings.callers.issue('bob', roles=['user'])}"}
    assert app.call("GET", f"/images/{task_id}", headers=bob)["statusCode"] == 404
    assert app.call("GET", "/images", headers=bob)["json"]["images"] == []
    assert app.call("GET", "/credits", headers=bob)["json"]["balance"] == 0
    assert app.call("POST", "/images", body={"prompt": "x"}, headers=bob)["statusCode"] == 402
    assert app.call("DELETE", f"/tasks/{task_id}", headers=bob)["statusCode"] == 404


def test_a_score_is_no_picture(world: World) -> None:
    app = application(world, ScriptedProvider())
    text = app.call("POST", "/score", body={"text": "Rivers shape the land."})["json"]["taskId"]
    assert app.call("GET", f"/images/{text}")["statusCode"] == 404
