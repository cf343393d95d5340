"""Submitting: once for each key, from the cache where it can, and never a row without a message."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.aws.queue import Queue
from isolane.errors import IdempotencyMismatch, InvalidRequest
from isolane.submissions import Submission, Submissions
from isolane.task import RESULT_S, Status
from tests.waiting import wait_until
from tests.world import World, receive


@pytest.fixture
def queue(whole_world: World) -> Queue:
    return whole_world.make_queue("scores")


@pytest.fixture
def submissions(whole_world: World, queue: Queue) -> Submissions:
    return whole_world.submissions(queue)


def ask(*, key: str | None = None, text: str = "a text", owner: str = "ann") -> Submission:
    return Submission(
        kind="score",
        owner=owner,
        text=text,
        fingerprint=f"print of {text}",
        cache_key=f"{owner}#{text[:80]}",
        idempotency_key=key,
    )


def sent(queue: Queue) -> dict[str, Any]:
    messages = wait_until(lambda: receive(queue), description="a message is there")
    body: dict[str, Any] = json.loads(messages[0]["body"])
    return body


def test_a_new_task_has_a_row_and_a_message_of_one_nonce(
    whole_world: World, submissions: Submissions, queue: Queue
) -> None:
    made = submissions.submit(ask())
    assert (made.task.status, made.replayed) == (Status.PENDING, False)
    assert whole_world.tasks.find(made.task.task_id) == made.task
    body = sent(queue)
    assert body == {
        "task_id": made.task.task_id, "nonce": made.task.nonce, "kind": "score", "owner": "ann", "text": "a text",
    }  # fmt: skip


def test_the_same_key_and_body_is_the_same_task(submissions: Submissions) -> None:
    first = submissions.submit(ask(key="k"))
    again = submissions.submit(ask(key="k"))
    assert (again.task, again.replayed) == (first.task, True)


def test_another_body_under_the_key_is_refused(submissions: Submissions) -> None:
    submissions.submit(ask(key="k"))
    with pytest.raises(IdempotencyMismatch):
        submissions.submit(ask(key="k", text="another"))


def test_a_key_is_its_callers_own(submissions: Submissions) -> None:
    assert submissions.submit(ask(key="k")).task.task_id != submissions.submit(ask(key="k", owner="bob")).task.task_id


def test_without_a_key_each_submit_is_new(submissions: Submissions) -> None:
    assert submissions.submit(ask()).task.task_id != submissions.submit(ask()).task.task_id


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_has_1_to_255_characters(submissions: Submissions, key: str) -> None:
    with pytest.raises(InvalidRequest):
        submissions.submit(ask(key=key))


def test_an_expired_key_can_be_used_again(whole_world: World, submissions: Submissions) -> None:
    first = submissions.submit(ask(key="k")).task
    whole_world.tasks.cancel(first.task_id, owner="ann")
    whole_world.clock.advance(RESULT_S)
    again = submissions.submit(ask(key="k", text="another"))
    assert (again.task.task_id, again.task.status, again.replayed) == (first.task_id, Status.PENDING, False)


def test_a_cached_answer_completes_the_task_at_once_and_sends_nothing(
    whole_world: World, submissions: Submissions, queue: Queue
) -> None:
    whole_world.values.put("ann#a text", {"result": {"score": 9}, "model": "m"}, ttl_s=60)
    made = submissions.submit(ask()).task
    assert (made.status, made.cached, made.result, made.model) == (Status.COMPLETED, True, {"score": 9}, "m")
    assert whole_world.tasks.read(made.task_id, owner="ann") == made
    submissions.submit(ask(text="the next"))
    assert sent(queue)["text"] == "the next"


def test_an_expired_cached_answer_is_none(whole_world: World, submissions: Submissions) -> None:
    whole_world.values.put("ann#a text", {"result": {"score": 9}, "model": "m"}, ttl_s=60)
    whole_world.clock.advance(60)
    assert submissions.submit(ask()).task.status is Status.PENDING


def test_a_text_too_large_for_a_message_lies_in_the_bucket(whole_world: World, queue: Queue) -> None:
    bucket = whole_world.make_bucket()
    submissions = whole_world.submissions(queue, bucket)
    text = "長" * 100_000
    submissions.submit(ask(text=text))
    body = sent(queue)
    assert "text" not in body
    assert submissions.payloads.unpack(body) == text


@pytest.mark.usefixtures("atomic")
def test_sixteen_submits_under_one_key_make_one_task(submissions: Submissions) -> None:
    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(lambda _: submissions.submit(ask(key="k")), range(16)))
    assert len({submitted.task.nonce for submitted in made}) == 1
    assert sum(not submitted.replayed for submitted in made) == 1
