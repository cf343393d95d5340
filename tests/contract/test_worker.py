"""The worker and what becomes of its messages, on real queues and tables, with scorers that fail in every way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from isolane.deadline import Deadline
from isolane.errors import Unavailable
from isolane.model_errors import InputTooLong, ModelBusy, ModelRefused, ModelRejected, ReplyUnreadable
from isolane.observability import metrics
from isolane.task import RESULT_S, UNFINISHED_S, Claimed
from scoring.prompt import Form
from scoring.score import Score
from tests.application import Application
from tests.world import World, receive

TEXT = {"text": "Rivers shape the land, because water carries soil."}


@dataclass
class Scripted:
    """A scorer that does what it is told, in order; the last instruction stays."""

    script: list[Any]
    name: str = "scripted"
    longest: int | None = None
    asked: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] | None = None
    """What happens elsewhere during the first call."""

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:  # noqa: ARG002 - it answers at once
        self.asked.append(text)
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            happens()
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, Exception):
            raise step
        return Score(score=step, dimensions={"all": step}, comments=("Fine.",))


def application(world: World, *script: Any, **changes: str) -> tuple[Application, Scripted]:
    scorer = Scripted(list(script))
    return Application(world, scorers=(scorer,), changes=changes), scorer


def task(app: Application, task_id: str) -> Any:
    return app.call("GET", "/result", query={"taskId": task_id})["json"]


def submit(app: Application) -> str:
    return str(app.call("POST", "/score", body=TEXT)["json"]["taskId"])


def deliver_until_rest(app: Application, *, most: int = 20) -> int:
    """Delivers the message as often as it asks to come again, without waiting for its delay."""
    record = receive(app.queue)[0]
    for deliveries in range(1, most + 1):
        answer = app.work([record])
        if not answer["batchItemFailures"]:
            app.acknowledge([record], answer)
            return deliveries
    raise AssertionError(f"not at rest after {most} deliveries")


def test_a_scored_task_is_completed_and_cached(whole_world: World) -> None:
    app, scorer = application(whole_world, 71)
    first = submit(app)
    assert deliver_until_rest(app) == 1
    assert task(app, first)["score"] == 71
    again = app.call("POST", "/score", body=TEXT)
    assert (again["statusCode"], again["json"]["cached"], again["json"]["score"]) == (200, True, 71)
    assert scorer.asked == [TEXT["text"]]


def test_a_busy_model_is_tried_four_times_then_given_up(whole_world: World) -> None:
    app, scorer = application(whole_world, ModelBusy(requests=1))
    task_id = submit(app)
    assert deliver_until_rest(app) == 4
    failed = task(app, task_id)
    assert (failed["status"], failed["attempt"], failed["error"]["code"]) == ("failed", 4, "attempts_exhausted")
    assert len(scorer.asked) == 4
    letters = receive(app.dead)
    assert [letter["messageAttributes"]["reason"]["stringValue"] for letter in letters] == ["attempts_exhausted"]


def test_a_model_that_comes_back_is_enough(whole_world: World) -> None:
    app, _ = application(whole_world, ModelBusy(requests=1), ModelBusy(retry_after_s=3, requests=1), 64)
    task_id = submit(app)
    assert deliver_until_rest(app) == 3
    done = task(app, task_id)
    assert (done["status"], done["attempt"], done["score"]) == ("completed", 3, 64)


@pytest.mark.parametrize(
    ("error", "status", "dead_letters"),
    [
        (ModelRejected(), "failed", 1),
        (ModelRefused(), "failed", 0),
        (InputTooLong(), "failed", 0),
        (ReplyUnreadable(), "in_review", 0),
    ],
)
def test_what_no_retry_helps_ends_at_once(whole_world: World, error: Exception, status: str, dead_letters: int) -> None:
    app, scorer = application(whole_world, error)
    task_id = submit(app)
    assert deliver_until_rest(app) == 1
    ended = task(app, task_id)
    assert ended["status"] == status
    assert "score" not in ended
    assert len(scorer.asked) == 1
    assert len(receive(app.dead)) == dead_letters


def test_a_service_that_fails_under_the_worker_costs_an_attempt_and_nothing_else(whole_world: World) -> None:
    app, _ = application(whole_world, Unavailable(), 50)
    task_id = submit(app)
    assert deliver_until_rest(app) == 2
    assert task(app, task_id)["attempt"] == 2


def test_a_bug_in_a_scorer_waits_for_the_claim_to_lapse(whole_world: World) -> None:
    app, _ = application(whole_world, RuntimeError("a bug"), 50)
    task_id = submit(app)
    (record,) = receive(app.queue)
    assert app.work([record])["batchItemFailures"]
    assert app.work([record])["batchItemFailures"], "the claim of the crashed attempt still holds"
    whole_world.clock.advance(60)
    assert app.work([record]) == {"batchItemFailures": []}
    assert task(app, task_id)["attempt"] == 2


def test_a_worker_that_lost_its_claim_leaves_the_message_to_who_has_the_task(whole_world: World) -> None:
    """Its claim lapses while the model thinks; another claims the task and gives it back, so that it is pending."""
    app, scorer = application(whole_world, 71)
    task_id = submit(app)
    (record,) = receive(app.queue)

    def meanwhile() -> None:
        whole_world.clock.advance(60)
        found = app.bindings.tasks.find(task_id)
        assert found is not None
        until_ms = app.bindings.tasks.now_ms() + 60_000
        claim = app.bindings.tasks.claim(task_id, nonce=found.nonce, until_ms=until_ms, max_attempts=4)
        assert isinstance(claim, Claimed)
        app.bindings.tasks.give_back(claim.task, attempted=True)

    scorer.meanwhile = meanwhile
    assert app.work([record])["batchItemFailures"], "the message is all that the task has"
    assert task(app, task_id)["status"] == "pending"
    assert app.work([record]) == {"batchItemFailures": []}
    assert task(app, task_id)["score"] == 71


def test_a_canceled_task_drops_its_result(whole_world: World) -> None:
    app, scorer = application(whole_world, 71)
    task_id = submit(app)
    app.call("DELETE", f"/tasks/{task_id}")
    assert deliver_until_rest(app) == 1
    assert task(app, task_id)["status"] == "canceled"
    assert scorer.asked == []


def test_an_overdue_task_is_timed_out_and_not_scored(whole_world: World) -> None:
    app, scorer = application(whole_world, 71)
    task_id = submit(app)
    whole_world.clock.advance(UNFINISHED_S)
    assert deliver_until_rest(app) == 1
    assert task(app, task_id)["error"]["code"] == "timed_out"
    assert scorer.asked == []


def test_an_expired_task_answers_gone(whole_world: World) -> None:
    app, _ = application(whole_world, 71)
    task_id = submit(app)
    deliver_until_rest(app)
    whole_world.clock.advance(RESULT_S)
    gone = app.call("GET", "/result", query={"taskId": task_id})
    assert (gone["statusCode"], gone["json"]["error"]) == (410, "task_expired")


def test_a_fallbacks_score_answers_for_ten_minutes_only(whole_world: World) -> None:
    app = Application(
        whole_world, scorers=(Scripted([ModelBusy(requests=1)], name="first"), Scripted([40], name="second"))
    )
    task_id = submit(app)
    deliver_until_rest(app)
    assert task(app, task_id)["model"] == "second"
    whole_world.clock.advance(599)
    assert app.call("POST", "/score", body=TEXT)["statusCode"] == 200
    whole_world.clock.advance(1)
    assert app.call("POST", "/score", body=TEXT)["statusCode"] == 202


def test_a_dead_letter_fails_the_task_that_still_waits_for_it(whole_world: World) -> None:
    """The backstop: SQS moved the message by itself."""
    app, _ = application(whole_world, 71)
    task_id = submit(app)
    (record,) = receive(app.queue)
    assert app.bury([record]) == {"batchItemFailures": []}
    failed = task(app, task_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "received_too_often")
    (row,) = app.letters()
    assert (row["sk"], json.loads(row["body"])["text"]) == (task_id, TEXT["text"])
    assert app.bury([record]) == {"batchItemFailures": []}
    assert len(app.letters()) == 1, "twice is once"


def failed_in_the_metrics() -> int:
    """How many tasks were counted as failed since this was asked last."""
    values = metrics().metric_set.get("failed", {}).get("Value", [])
    metrics().clear_metrics()
    return int(sum(values))


def refused(app: Application, _: str, __: dict[str, Any]) -> None:
    deliver_until_rest(app)


def dead_lettered(app: Application, _: str, record: dict[str, Any]) -> None:
    app.bury([record])
    app.bury([record])


def overdue(app: Application, _: str, record: dict[str, Any]) -> None:
    app.world.clock.advance(UNFINISHED_S)
    app.work([record])


def read_too_late(app: Application, task_id: str, _: dict[str, Any]) -> None:
    app.world.clock.advance(UNFINISHED_S)
    task(app, task_id)
    task(app, task_id)


def killed_four_times(app: Application, task_id: str, record: dict[str, Any]) -> None:
    for _ in range(4):
        found = app.bindings.tasks.find(task_id)
        assert found is not None
        until_ms = app.bindings.tasks.now_ms() + 1_000
        app.bindings.tasks.claim(task_id, nonce=found.nonce, until_ms=until_ms, max_attempts=4)
        app.world.clock.advance(2)
    app.work([record])


@pytest.mark.parametrize("fails", [refused, dead_lettered, overdue, read_too_late, killed_four_times])
def test_a_task_that_fails_is_counted_once_whoever_fails_it(
    whole_world: World, fails: Callable[[Application, str, dict[str, Any]], None]
) -> None:
    app, _ = application(whole_world, ModelRefused())
    task_id = submit(app)
    (record,) = receive(app.queue) if fails is not refused else ({},)
    failed_in_the_metrics()
    fails(app, task_id, record)
    assert task(app, task_id)["status"] == "failed"
    assert failed_in_the_metrics() == 1


def test_a_dead_letter_of_another_submission_touches_nobodys_task(whole_world: World) -> None:
    app, _ = application(whole_world, 71)
    task_id = submit(app)
    (record,) = receive(app.queue)
    body = {**json.loads(record["body"]), "nonce": "another"}
    app.bury([{**record, "body": json.dumps(body)}])
    assert task(app, task_id)["status"] == "pending"
