"""Tasks in review, on every backend: one reviewer at a time has each; a verdict, its owner or the time ends it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.due import count_of, due, not_yet_due
from isolane.errors import Conflict, Gone, NotFound
from isolane.task import RESULT_S, REVIEWS, UNREVIEWED_S, Claimed, Problem, Status, Task
from isolane.tasks import Tasks
from tests.world import World

LEASE_MS = 900_000
REASON = Problem(code="low_score", message="It is low.")
VERDICT = {"score": 64, "comments": ["Better than it looked."]}


@pytest.fixture
def tasks(world: World) -> Tasks:
    return world.tasks


@pytest.fixture
def waiting(tasks: Tasks) -> Task:
    return in_review(tasks)


def in_review(tasks: Tasks, *, task_id: str = "a" * 32) -> Task:
    new = tasks.add(tasks.new(task_id=task_id, kind="score", owner="ann", fingerprint="f" * 64))
    claim = tasks.claim(new.task_id, nonce=new.nonce, until_ms=tasks.now_ms() + 60_000, max_attempts=4)
    assert isinstance(claim, Claimed)
    return tasks.review(claim.task, reason=REASON, provisional={"score": 30})


def take(tasks: Tasks, task: Task, *, reviewer: str) -> Task | None:
    return tasks.take(task.task_id, reviewer=reviewer, until_ms=tasks.now_ms() + LEASE_MS)


def judge(tasks: Tasks, task: Task, *, reviewer: str, result: Any = VERDICT) -> Task:
    return tasks.judge(task.task_id, reviewer=reviewer, result=result, model="reviewer")


def refusal(tasks: Tasks, task: Task, *, reviewer: str, result: Any = VERDICT) -> str:
    with pytest.raises((Conflict, NotFound, Gone)) as refused:
        judge(tasks, task, reviewer=reviewer, result=result)
    return refused.value.code


def test_what_one_has_taken_no_other_gets_until_the_lease_lapses(tasks: Tasks, world: World, waiting: Task) -> None:
    lent = take(tasks, waiting, reviewer="eve")
    assert lent is not None
    assert (lent.reviewer, lent.lease_until_ms) == ("eve", tasks.now_ms() + LEASE_MS)
    assert take(tasks, waiting, reviewer="mallory") is None
    world.clock.advance(LEASE_MS / 1000 - 0.001)
    assert take(tasks, waiting, reviewer="mallory") is None
    world.clock.advance(0.001)
    assert take(tasks, waiting, reviewer="mallory") is not None
    assert take(tasks, waiting, reviewer="eve") is None


def test_taking_again_takes_it_for_as_long_again(tasks: Tasks, world: World, waiting: Task) -> None:
    take(tasks, waiting, reviewer="eve")
    world.clock.advance(600)
    again = take(tasks, waiting, reviewer="eve")
    assert again is not None
    assert again.lease_until_ms == tasks.now_ms() + LEASE_MS


def test_a_verdict_ends_the_task_for_an_hour(tasks: Tasks, world: World, waiting: Task) -> None:
    take(tasks, waiting, reviewer="eve")
    done = judge(tasks, waiting, reviewer="eve")
    assert (done.status, done.result, done.model, done.error) == (Status.COMPLETED, VERDICT, "reviewer", None)
    assert (done.provisional, done.due, done.due_at, done.lease_until_ms) == (None, None, None, None)
    assert tasks.read(waiting.task_id, owner="ann") == done
    world.clock.advance(RESULT_S)
    with pytest.raises(Gone):
        tasks.read(waiting.task_id, owner="ann")


def test_the_same_verdict_again_is_the_same(tasks: Tasks, world: World, waiting: Task) -> None:
    take(tasks, waiting, reviewer="eve")
    done = judge(tasks, waiting, reviewer="eve")
    world.clock.advance(60)
    assert judge(tasks, waiting, reviewer="eve") == done
    assert refusal(tasks, waiting, reviewer="eve", result={**VERDICT, "score": 65}) == "task_finished"
    assert refusal(tasks, waiting, reviewer="mallory") == "task_finished"


def test_a_verdict_counts_only_under_ones_own_lease(tasks: Tasks, world: World, waiting: Task) -> None:
    assert refusal(tasks, waiting, reviewer="eve") == "review_not_taken"
    take(tasks, waiting, reviewer="mallory")
    assert refusal(tasks, waiting, reviewer="eve") == "review_taken"
    world.clock.advance(LEASE_MS / 1000)
    assert refusal(tasks, waiting, reviewer="eve") == "review_not_taken"
    assert judge(tasks, waiting, reviewer="mallory").status is Status.COMPLETED, "nobody has taken it since"


def test_a_late_verdict_does_not_touch_what_another_has_taken_since(tasks: Tasks, world: World, waiting: Task) -> None:
    take(tasks, waiting, reviewer="eve")
    world.clock.advance(LEASE_MS / 1000)
    take(tasks, waiting, reviewer="mallory")
    assert refusal(tasks, waiting, reviewer="eve") == "review_taken"
    world.clock.advance(LEASE_MS / 1000)
    assert refusal(tasks, waiting, reviewer="eve") == "review_not_taken"


def test_a_verdict_on_an_earlier_submission_does_not_touch_a_later_one(
    tasks: Tasks, world: World, waiting: Task
) -> None:
    take(tasks, waiting, reviewer="eve")
    tasks.cancel(waiting.task_id, owner="ann")
    world.clock.advance(RESULT_S)
    assert in_review(tasks).nonce != waiting.nonce
    assert refusal(tasks, waiting, reviewer="eve") == "review_not_taken"


def test_nothing_else_is_taken_or_judged(tasks: Tasks, world: World, waiting: Task) -> None:
    pending = tasks.add(tasks.new(task_id="b" * 32, kind="score", owner="ann", fingerprint="f" * 64))
    assert take(tasks, pending, reviewer="eve") is None
    assert refusal(tasks, pending, reviewer="eve") == "review_not_taken"
    tasks.cancel(pending.task_id, owner="ann")
    assert take(tasks, pending, reviewer="eve") is None
    assert refusal(tasks, pending, reviewer="eve") == "task_finished"
    world.clock.advance(RESULT_S)
    assert refusal(tasks, pending, reviewer="eve") == "task_expired"
    nobodys = tasks.new(task_id="c" * 32, kind="score", owner="ann", fingerprint="f" * 64)
    assert take(tasks, nobodys, reviewer="eve") is None
    assert refusal(tasks, nobodys, reviewer="eve") == "task_not_found"


def test_a_verdict_after_the_deadline_comes_to_nothing(tasks: Tasks, world: World, waiting: Task) -> None:
    world.clock.advance(UNREVIEWED_S - 1)
    assert take(tasks, waiting, reviewer="eve") is not None
    world.clock.advance(1)
    assert refusal(tasks, waiting, reviewer="eve") == "task_finished"
    late = tasks.find(waiting.task_id)
    assert late is not None
    assert late.error is not None
    assert (late.status, late.error.code, late.due) == (Status.FAILED, "timed_out", None)


@pytest.mark.parametrize("end", ["judge", "cancel", "time_out"])
def test_what_has_ended_is_owed_nothing(tasks: Tasks, world: World, waiting: Task, end: str) -> None:
    assert count_of(tasks, REVIEWS, most=10) == 1
    take(tasks, waiting, reviewer="eve")
    if end == "judge":
        judge(tasks, waiting, reviewer="eve")
    elif end == "cancel":
        tasks.cancel(waiting.task_id, owner="ann")
    else:
        world.clock.advance(UNREVIEWED_S)
        tasks.settled(waiting)
    ended = tasks.find(waiting.task_id)
    assert ended is not None
    assert (ended.terminal, ended.provisional) == (True, None)
    assert count_of(tasks, REVIEWS, most=10) == 0


def test_the_index_tells_what_is_due_and_what_is_not_in_order(tasks: Tasks, world: World) -> None:
    ids = [f"{number:032x}" for number in (7, 3, 5)]
    for task_id in ids:
        in_review(tasks, task_id=task_id)
        world.clock.advance(1)
    first = not_yet_due(tasks, REVIEWS, limit=2, after=None)
    rest = not_yet_due(tasks, REVIEWS, limit=2, after=first.after)
    assert [item["task_id"] for item in (*first.items, *rest.items)] == ids
    assert set(first.items[0]) == {"task_id", "due", "due_at"}
    world.clock.advance(UNREVIEWED_S - 2)
    assert [task.task_id for task in due(tasks, REVIEWS)] == ids[:2]
    assert [item["task_id"] for item in not_yet_due(tasks, REVIEWS, limit=9, after=None).items] == ids[2:]
    assert count_of(tasks, REVIEWS, most=2) == 2


@pytest.mark.usefixtures("atomic")
def test_twenty_reviewers_at_once_have_one_winner(tasks: Tasks, waiting: Task) -> None:
    with ThreadPoolExecutor(16) as threads:
        lent = list(threads.map(lambda number: take(tasks, waiting, reviewer=f"reviewer-{number}"), range(20)))
    assert sum(task is not None for task in lent) == 1


def test_a_place_that_has_become_due_is_none_any_more(tasks: Tasks, waiting: Task) -> None:
    old = {"task_id": waiting.task_id, "due": REVIEWS, "due_at": 0}
    assert [item["task_id"] for item in not_yet_due(tasks, REVIEWS, limit=9, after=old).items] == [waiting.task_id]


def test_what_is_canceled_out_of_a_review_waits_for_no_human_any_more(tasks: Tasks, waiting: Task) -> None:
    canceled = tasks.cancel(waiting.task_id, owner="ann")
    assert (canceled.status, canceled.error, canceled.provisional) == (Status.CANCELED, None, None)
