"""Tasks, on every backend: each move once, whoever comes second, and every lost answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.errors import Conflict, Gone, NotFound
from isolane.task import (
    REMEMBERED_S,
    RESULT_S,
    UNFINISHED_S,
    UNREVIEWED_S,
    Busy,
    Claimed,
    Exhausted,
    Finished,
    NoRow,
    Overdue,
    Problem,
    Status,
    Task,
)
from isolane.task_list import list_tasks
from isolane.tasks import Tasks
from tests.world import World

CLAIM_S = 60
PROBLEM = Problem(code="model_failed", message="The model failed.")


@pytest.fixture
def tasks(world: World) -> Tasks:
    return world.tasks


@pytest.fixture
def pending(tasks: Tasks) -> Task:
    return tasks.add(new(tasks))


def new(tasks: Tasks, *, task_id: str = "a" * 32, owner: str = "ann") -> Task:
    return tasks.new(task_id=task_id, kind="score", owner=owner, fingerprint="f" * 64)


def claim(tasks: Tasks, task: Task, *, max_attempts: int = 4, for_s: float = CLAIM_S) -> Any:
    until_ms = tasks.now_ms() + int(for_s * 1000)
    return tasks.claim(task.task_id, nonce=task.nonce, until_ms=until_ms, max_attempts=max_attempts)


def claimed(tasks: Tasks, task: Task, **limits: Any) -> Task:
    outcome = claim(tasks, task, **limits)
    assert isinstance(outcome, Claimed)
    return outcome.task


def test_a_new_task_is_read_as_it_was_written(tasks: Tasks, pending: Task) -> None:
    assert tasks.read(pending.task_id, owner="ann") == pending
    assert pending.status is Status.PENDING


def test_the_second_submit_under_one_id_gets_the_first_ones_task(tasks: Tasks, pending: Task) -> None:
    assert tasks.add(new(tasks)) == pending


def test_an_expired_task_gives_its_id_to_the_next(tasks: Tasks, world: World, pending: Task) -> None:
    tasks.cancel(pending.task_id, owner="ann")
    world.clock.advance(RESULT_S)
    assert tasks.add(new(tasks)).nonce != pending.nonce
    assert tasks.read(pending.task_id, owner="ann").status is Status.PENDING


def test_nobody_else_sees_it(tasks: Tasks, pending: Task) -> None:
    with pytest.raises(NotFound) as refusal:
        tasks.read(pending.task_id, owner="bob")
    assert refusal.value.code == "task_not_found"


def test_a_claim_counts_an_attempt_and_starts_it(tasks: Tasks, pending: Task) -> None:
    task = claimed(tasks, pending)
    assert (task.status, task.attempt, task.started_at_ms) == (Status.PROCESSING, 1, tasks.now_ms())


def test_a_claimed_task_is_busy_until_its_claim_lapses(tasks: Tasks, world: World, pending: Task) -> None:
    first = claimed(tasks, pending)
    assert claim(tasks, pending) == Busy(until_ms=first.claim_until_ms or 0)
    world.clock.advance(CLAIM_S - 0.001)
    assert isinstance(claim(tasks, pending), Busy)
    world.clock.advance(0.001)
    assert claimed(tasks, pending).attempt == 2


def test_a_message_without_a_row_has_nothing_to_claim(tasks: Tasks) -> None:
    assert claim(tasks, new(tasks)) == NoRow()


def test_a_message_of_another_submission_counts_as_one_without_a_row(tasks: Tasks, pending: Task) -> None:
    assert claim(tasks, dataclasses.replace(pending, nonce="another")) == NoRow()


def test_a_task_that_has_had_its_attempts_is_not_claimed_again(tasks: Tasks, pending: Task) -> None:
    for _ in range(2):
        tasks.give_back(claimed(tasks, pending, max_attempts=2), attempted=True)
    assert isinstance(claim(tasks, pending, max_attempts=2), Exhausted)


def test_giving_back_without_an_attempt_leaves_all_of_them(tasks: Tasks, pending: Task) -> None:
    for _ in range(3):
        tasks.give_back(claimed(tasks, pending, max_attempts=1), attempted=False)
    assert claimed(tasks, pending, max_attempts=1).attempt == 1


def test_only_the_current_claim_gives_back(tasks: Tasks, world: World, pending: Task) -> None:
    late = claimed(tasks, pending)
    world.clock.advance(CLAIM_S)
    current = claimed(tasks, pending)
    assert tasks.give_back(late, attempted=False).claim == current.claim
    assert tasks.read(pending.task_id, owner="ann").status is Status.PROCESSING


def test_a_result_ends_the_task_for_an_hour(tasks: Tasks, world: World, pending: Task) -> None:
    done = tasks.complete(claimed(tasks, pending), result={"score": 71, "ratio": 0.1}, model="m")
    assert (done.status, done.result, done.model) == (Status.COMPLETED, {"score": 71, "ratio": 0.1}, "m")
    assert tasks.read(pending.task_id, owner="ann") == done
    world.clock.advance(RESULT_S - 1)
    assert tasks.read(pending.task_id, owner="ann") == done
    world.clock.advance(1)
    with pytest.raises(Gone):
        tasks.read(pending.task_id, owner="ann")
    world.clock.advance(REMEMBERED_S)
    with pytest.raises(NotFound):
        tasks.read(pending.task_id, owner="ann")


def test_the_time_to_live_is_whole_seconds_after_what_it_protects(tasks: Tasks, world: World, pending: Task) -> None:
    assert pending.ttl is not None
    assert pending.ttl > pending.deadline_ms / 1000 + RESULT_S
    done = tasks.complete(claimed(tasks, pending), result={})
    raw = world.client("dynamodb").get_item(TableName=tasks.table.name, Key={"task_id": {"S": done.task_id}})["Item"]
    assert raw["ttl"]["N"] == str((done.expires_at or 0) + REMEMBERED_S)
    assert len(raw["ttl"]["N"]) == len(raw["expires_at"]["N"]) == 10


def test_a_result_under_a_lost_claim_changes_nothing(tasks: Tasks, world: World, pending: Task) -> None:
    late = claimed(tasks, pending)
    world.clock.advance(CLAIM_S)
    current = claimed(tasks, pending)
    assert tasks.complete(late, result={"score": 1}) == current
    assert tasks.complete(current, result={"score": 2}).result == {"score": 2}


@pytest.mark.parametrize("end", ["complete", "fail", "abandon", "cancel"])
def test_terminal_is_once(tasks: Tasks, pending: Task, end: str) -> None:
    task = claimed(tasks, pending)
    ends: dict[str, Callable[[], Task]] = {
        "complete": lambda: tasks.complete(task, result={"score": 5}),
        "fail": lambda: tasks.fail(task, PROBLEM),
        "abandon": lambda: tasks.abandon(task, PROBLEM),
        "cancel": lambda: tasks.cancel(task.task_id, owner="ann"),
    }
    final = ends.pop(end)()
    assert final.terminal
    for name, again in ends.items():
        if name == "cancel":
            with pytest.raises(Conflict) as refusal:
                again()
            assert refusal.value.code == "task_finished"
        else:
            assert again() == final
    assert claim(tasks, pending) == Finished(task=final)
    assert tasks.read(pending.task_id, owner="ann") == final


def test_only_its_owner_cancels(tasks: Tasks, pending: Task) -> None:
    with pytest.raises(NotFound):
        tasks.cancel(pending.task_id, owner="bob")
    with pytest.raises(NotFound):
        tasks.cancel("no-such-task", owner="ann")
    assert tasks.read(pending.task_id, owner="ann") == pending


def test_a_task_past_its_deadline_is_failed_by_whoever_reads_it(tasks: Tasks, world: World, pending: Task) -> None:
    world.clock.advance(UNFINISHED_S)
    assert isinstance(claim(tasks, pending), Overdue)
    read = tasks.read(pending.task_id, owner="ann")
    assert read.error is not None
    assert (read.status, read.error.code) == (Status.FAILED, "timed_out")
    world.clock.advance(RESULT_S - 1)
    assert tasks.read(pending.task_id, owner="ann") == read


def test_a_stale_reader_cannot_time_out_a_task_that_was_given_more_time(
    tasks: Tasks, world: World, pending: Task
) -> None:
    in_review = tasks.review(claimed(tasks, pending), reason=PROBLEM, provisional={"score": 30})
    world.clock.advance(UNFINISHED_S)
    assert tasks.time_out(pending) == in_review
    world.clock.advance(UNREVIEWED_S - UNFINISHED_S)
    assert tasks.read(pending.task_id, owner="ann").status is Status.FAILED


def test_a_task_in_review_waits_for_nobodys_claim(tasks: Tasks, pending: Task) -> None:
    in_review = tasks.review(claimed(tasks, pending), reason=PROBLEM, provisional={"score": 30})
    assert (in_review.status, in_review.result, in_review.error) == (Status.IN_REVIEW, None, PROBLEM)
    assert in_review.provisional == {"score": 30}
    assert claim(tasks, pending) == Finished(task=in_review)


@pytest.mark.usefixtures("atomic")
def test_fifty_claims_at_once_have_one_winner(tasks: Tasks, pending: Task) -> None:
    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda _: claim(tasks, pending), range(50)))
    assert sum(isinstance(outcome, Claimed) for outcome in outcomes) == 1
    assert tasks.read(pending.task_id, owner="ann").attempt == 1


def test_pages_list_the_owners_tasks_newest_first(tasks: Tasks, world: World) -> None:
    ids = [f"{number:032x}" for number in range(5)]
    for task_id in ids:
        tasks.add(new(tasks, task_id=task_id))
        tasks.add(new(tasks, task_id=task_id[::-1] + "b", owner="bob"))
        world.clock.advance(1)
    first = list_tasks(tasks, owner="ann", limit=3)
    assert [task.task_id for task in first.tasks] == ids[:1:-1]
    rest = list_tasks(tasks, owner="ann", limit=3, cursor=first.cursor)
    assert [task.task_id for task in rest.tasks] == ids[1::-1]
    assert rest.cursor is None


def test_a_cursor_of_somebody_else_opens_nothing_of_theirs(tasks: Tasks, world: World) -> None:
    for number in range(4):
        tasks.add(new(tasks, task_id=f"{number:032x}", owner="bob"))
        world.clock.advance(1)
    theirs = list_tasks(tasks, owner="bob", limit=1).cursor
    assert list_tasks(tasks, owner="ann", limit=10, cursor=theirs).tasks == []


def test_a_filtered_page_may_be_short_and_still_have_a_cursor(tasks: Tasks, world: World, pending: Task) -> None:
    world.clock.advance(1)
    tasks.add(new(tasks, task_id="b" * 32))
    tasks.cancel(pending.task_id, owner="ann")
    page = list_tasks(tasks, owner="ann", limit=1, wanted=lambda task: task.terminal)
    assert page.tasks == []
    assert page.cursor is not None
    rest = list_tasks(tasks, owner="ann", limit=1, cursor=page.cursor, wanted=lambda task: task.terminal)
    assert [task.task_id for task in rest.tasks] == [pending.task_id]


def test_an_expired_task_is_not_listed(tasks: Tasks, world: World, pending: Task) -> None:
    tasks.cancel(pending.task_id, owner="ann")
    world.clock.advance(RESULT_S)
    assert list_tasks(tasks, owner="ann", limit=10).tasks == []
