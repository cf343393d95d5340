"""The queue and its worker on the deployed stack: poison, duplicates, deaths, crashes, and nobody's messages."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.doubles import steps
from tests.integration.conftest import Models
from tests.waiting import wait_until


def message(task: Any, text: str) -> str:
    return json.dumps({"task_id": task.task_id, "nonce": task.nonce, "kind": "score", "owner": "local", "text": text})


def test_a_poison_message_harms_nobody_in_its_batch(models: Models, text: str) -> None:
    poison = f"{{bad {uuid.uuid4().hex}"
    models.queue.client.send_message_batch(
        QueueUrl=models.queue.url,
        Entries=[
            {"Id": "poison", "MessageBody": poison},
            {"Id": "list", "MessageBody": json.dumps([uuid.uuid4().hex])},
            {"Id": "stranger", "MessageBody": json.dumps({"hello": uuid.uuid4().hex})},
        ],
    )
    task_id = models.api.submit(text).json["taskId"]
    assert models.api.wait(task_id)["status"] == "completed"

    def buried() -> list[str]:
        page = models.state.query("#pk = :pk", values={"pk": "dead-letters"}, limit=100, newest_first=True)
        return [row["reason"] for row in page.items if row["body"] == poison]

    assert wait_until(buried, description="the poison is a dead letter", timeout_s=30) == ["invalid_json"]


def test_a_message_delivered_again_is_not_scored_again(models: Models, text: str) -> None:
    """In series: while the task is done already."""
    task_id = models.api.submit(text).json["taskId"]
    models.api.wait(task_id)
    task = models.tasks.find(task_id)
    models.queue.send(message(task, text))
    wait_until(lambda: models.in_queue(models.queue) == 0, description="the second delivery is over", timeout_s=30)
    assert models.asked_about(text) == 1
    assert models.tasks.find(task_id) == task


def test_a_message_delivered_twice_at_once_is_scored_once(models: Models, text: str) -> None:
    """In parallel: while the model is at work on the first delivery."""
    models.server.play(steps.score(80, delay_s=2))
    task_id = models.api.submit(text).json["taskId"]
    task = models.tasks.find(task_id)
    for _ in range(4):
        models.queue.send(message(task, text))
    done = models.api.wait(task_id)
    assert (done["status"], done["attempt"]) == ("completed", 1)
    wait_until(lambda: models.in_queue(models.queue) == 0, description="all deliveries are over", timeout_s=60)
    assert models.asked_about(text) == 1


@pytest.mark.usefixtures("mortal")
def test_a_worker_killed_in_mid_task_loses_nothing(models: Models, text: str) -> None:
    models.server.play(steps.score(80, delay_s=3), steps.score(81))
    task_id = models.api.submit(text).json["taskId"]
    wait_until(lambda: models.asked_about(text) == 1, description="the worker is at it", timeout_s=30)
    assert models.kill_worker()
    done = models.api.wait(task_id, timeout_s=120)  # the message comes back after its visibility timeout, 48 s
    assert (done["status"], done["attempt"], done["score"]) == ("completed", 2, 81)
    assert models.asked_about(text) == 2


def test_the_dead_letter_queue_is_reached_after_four_attempts_and_not_before(models: Models, text: str) -> None:
    models.server.play(steps.error_page(500))
    task_id = models.api.submit(text).json["taskId"]
    wait_until(lambda: models.asked_about(text) == 3, description="three attempts were made", timeout_s=60)
    assert models.state.get({"pk": "dead-letters", "sk": task_id}) is None
    failed = models.api.wait(task_id, timeout_s=60)
    assert (failed["status"], failed["attempt"], failed["error"]["code"]) == ("failed", 4, "attempts_exhausted")
    letter = models.dead_letter(task_id)
    assert (letter["reason"], json.loads(letter["body"])["text"]) == ("attempts_exhausted", text)
    assert models.asked_about(text) == 4
    wait_until(lambda: models.in_queue(models.dead_letters) == 0, description="it was taken in", timeout_s=30)


@pytest.mark.parametrize(
    ("step", "status", "code", "requests"),
    [
        (steps.quota_exhausted(), "failed", "model_rejected", 1),
        (steps.context_length_exceeded(), "failed", "model_input_too_long", 1),
        (steps.content("Seventy out of a hundred."), "in_review", "model_unreadable", 2),
    ],
)
def test_a_failure_that_no_retry_helps_is_not_retried(
    models: Models, text: str, step: steps.Step, status: str, code: str, requests: int
) -> None:
    models.server.play(step)
    task_id = models.api.submit(text).json["taskId"]

    def ended() -> Any:
        task = models.api.result(task_id).json
        return task if task["status"] not in {"pending", "processing"} else None

    task = wait_until(ended, description="it is over", timeout_s=30)
    assert (task["status"], task["error"]["code"]) == (status, code)
    assert "score" not in task
    assert models.asked_about(text) == requests


def test_a_crash_between_the_message_and_its_row_is_healed_by_the_row(models: Models, text: str) -> None:
    """The message is seen without a row, waits, and finds it."""
    task = models.tasks.new(task_id=uuid.uuid4().hex, kind="score", owner="local", fingerprint="f")
    models.queue.send(message(task, text))

    def deferred() -> bool:
        names: Any = ["ApproximateNumberOfMessagesNotVisible"]
        answer = models.queue.client.get_queue_attributes(QueueUrl=models.queue.url, AttributeNames=names)
        return answer["Attributes"][names[0]] != "0"

    wait_until(deferred, description="the worker has seen the message", timeout_s=30)
    models.tasks.add(task)
    assert models.api.wait(task.task_id)["status"] == "completed"
    assert models.asked_about(text) == 1


def test_a_message_without_a_row_is_dropped_after_a_minute(models: Models, text: str) -> None:
    nobodys = models.tasks.new(task_id=uuid.uuid4().hex, kind="score", owner="local", fingerprint="f")
    models.queue.send(message(nobodys, text))
    assert models.in_queue(models.queue) == 1
    wait_until(lambda: models.in_queue(models.queue) == 0, description="the queue is empty", timeout_s=120)
    assert models.asked_about(text) == 0
    assert models.state.get({"pk": "dead-letters", "sk": nobodys.task_id}) is None


def test_two_hundred_texts_from_many_clients_are_each_scored_once(models: Models) -> None:
    clients = min(16, models.deployment.emulator.most_callers)
    texts = [f"Text number {number}. {uuid.uuid4().hex}" for number in range(200)]
    with ThreadPoolExecutor(clients) as threads:
        answers = list(threads.map(models.api.submit, texts))
        assert {answer.status for answer in answers} == {202}
        ids = [answer.json["taskId"] for answer in answers]
        assert len(set(ids)) == 200
        done = list(threads.map(lambda task_id: models.api.wait(task_id, timeout_s=180), ids))
    assert {task["status"] for task in done} == {"completed"}
    assert [models.asked_about(text) for text in texts] == [1] * 200
    wait_until(lambda: models.in_queue(models.queue) == 0, description="the queue is empty", timeout_s=60)
    assert models.in_queue(models.dead_letters) == 0
