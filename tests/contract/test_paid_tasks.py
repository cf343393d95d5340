"""What was paid for is delivered or paid back, once, whoever comes first; on every backend."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isolane.due import due
from isolane.ending import LATE, LOOK_AFTER_S
from isolane.errors import Conflict, Gone, IdempotencyMismatch, InsufficientCredits, NotFound
from isolane.paid_tasks import ASK_EVERY_MS, LONGEST_PAUSE_S, PaidTasks
from isolane.task import DAY_S, PAID_RESULT_S, REMEMBERED_S, Problem, Status, Task
from tests.world import World

START_S, FINISH_S, HAND_OVER_S = 600, 1800, 12.0
FAILED = Problem(code="generation_failed", message="The provider could not make the picture.")
RESULT = {"contentType": "image/png", "width": 2, "height": 2}


@pytest.fixture
def paid(world: World) -> PaidTasks:
    world.ledger.grant("ann", amount=25, grant_id="welcome")
    world.clock.advance(1)
    return PaidTasks(
        tasks=world.tasks,
        kind="image",
        duty="images",
        start_s=START_S,
        finish_s=FINISH_S,
        hand_over_s=HAND_OVER_S,
    )


def new(paid: PaidTasks, *, task_id: str = "task-1", price: int = 10, prompt: str = "a lighthouse") -> Task:
    return paid.new(task_id=task_id, owner="ann", fingerprint=prompt, prompt=prompt, price=price)


def ordered(paid: PaidTasks, *, task_id: str = "task-1", price: int = 10) -> Task:
    return paid.add(new(paid, task_id=task_id, price=price))


def submitted(paid: PaidTasks, *, task_id: str = "task-1") -> Task:
    return paid.submitted(ordered(paid, task_id=task_id), f"prediction of {task_id}")


def account(world: World) -> list[tuple[str, int, str]]:
    """Every entry but the first grant, the oldest first; and the balance is their sum."""
    statement = world.ledger.statement("ann", limit=100)
    assert statement.balance == sum(entry.credits for entry in statement.entries) >= 0
    return [(entry.entry_id, entry.credits, entry.reason) for entry in reversed(statement.entries)][1:]


CHARGED = ("charge#task-1", -10, "image")


def paid_back(reason: str) -> list[tuple[str, int, str]]:
    return [CHARGED, ("refund#task-1", 10, reason)]


# Ordering


def test_the_charge_and_the_task_come_together(paid: PaidTasks, world: World) -> None:
    task = ordered(paid)
    assert world.tasks.find("task-1") == task
    assert (task.status, task.price, task.attempt, task.prompt) == (Status.PENDING, 10, 0, "a lighthouse")
    assert account(world) == [CHARGED]


def test_without_the_credits_there_is_neither(paid: PaidTasks, world: World) -> None:
    ordered(paid, task_id="task-1")
    ordered(paid, task_id="task-2")
    with pytest.raises(InsufficientCredits) as refused:
        ordered(paid, task_id="task-3")
    assert refused.value.balance == 5 == world.ledger.balance("ann")
    assert world.tasks.find("task-3") is None


def test_one_id_is_one_task_and_one_charge(paid: PaidTasks, world: World) -> None:
    first = ordered(paid)
    assert ordered(paid) == first
    assert account(world) == [CHARGED]
    with pytest.raises(IdempotencyMismatch):
        paid.add(new(paid, prompt="a windmill"))


def test_a_replay_needs_no_credits(paid: PaidTasks) -> None:
    first = ordered(paid, price=25)
    assert ordered(paid, price=25) == first


def test_a_picture_may_cost_nothing(world: World, paid: PaidTasks) -> None:
    task = paid.add(paid.new(task_id="task-1", owner="bob", fingerprint="f", prompt="a lighthouse", price=0))
    assert world.tasks.cancel("task-1", owner="bob").status is Status.CANCELED
    entries = world.ledger.statement("bob", limit=10).entries
    assert sorted((entry.entry_id, entry.credits) for entry in entries) == [("charge#task-1", 0), ("refund#task-1", 0)]
    assert task.paid


def test_its_row_stays_for_as_long_as_something_is_owed(paid: PaidTasks, world: World) -> None:
    assert ordered(paid).ttl is None
    done = world.tasks.deliver(submitted(paid, task_id="task-2"), result=RESULT, model="builtin")
    assert done.expires_at == int(world.clock()) + PAID_RESULT_S
    assert done.ttl == done.expires_at + REMEMBERED_S


# Ends


def test_a_delivered_picture_stays_paid_for_and_is_kept_for_thirty_days(paid: PaidTasks, world: World) -> None:
    task = world.tasks.deliver(submitted(paid), result=RESULT, model="builtin")
    assert (task.status, task.result, task.model) == (Status.COMPLETED, RESULT, "builtin")
    assert account(world) == [CHARGED]
    world.clock.advance(30 * DAY_S - 1)
    assert world.tasks.read("task-1", owner="ann").status is Status.COMPLETED
    world.clock.advance(2)
    with pytest.raises(Gone):
        world.tasks.read("task-1", owner="ann")


def test_a_failure_pays_back_with_its_reason(paid: PaidTasks, world: World) -> None:
    failed = world.tasks.abandon(submitted(paid), FAILED)
    assert (failed.status, failed.error) == (Status.FAILED, FAILED)
    assert world.tasks.find("task-1") == failed
    assert account(world) == paid_back("generation_failed")


def test_a_cancellation_pays_back(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    canceled = world.tasks.cancel("task-1", owner="ann")
    assert canceled.status is Status.CANCELED
    assert world.tasks.find("task-1") == canceled
    assert account(world) == paid_back("canceled")


def test_nobody_else_cancels_it(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    with pytest.raises(NotFound):
        world.tasks.cancel("task-1", owner="bob")
    assert account(world) == [CHARGED]


def test_what_the_provider_has_not_begun_in_time_was_not_started(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    world.clock.advance(START_S)
    task = world.tasks.read("task-1", owner="ann")
    assert (task.status, task.error and task.error.code) == (Status.FAILED, "not_started")
    assert account(world) == paid_back("not_started")


def test_what_the_provider_has_begun_has_its_own_time_to_finish(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    world.clock.advance(START_S - 1)
    begun = paid.begun(task)
    assert (begun.status, begun.started_at_ms) == (Status.PROCESSING, int(world.clock() * 1000))
    world.clock.advance(FINISH_S - 1)
    assert world.tasks.read("task-1", owner="ann").status is Status.PROCESSING
    world.clock.advance(1)
    task = world.tasks.read("task-1", owner="ann")
    assert (task.status, task.error and task.error.code) == (Status.FAILED, "timed_out")
    assert account(world) == paid_back("timed_out")


def test_who_has_an_old_copy_does_not_end_what_has_begun(paid: PaidTasks, world: World) -> None:
    old = submitted(paid)
    paid.begun(old)
    world.clock.advance(START_S)
    assert world.tasks.time_out(old).status is Status.PROCESSING
    assert account(world) == [CHARGED]


def test_time_to_finish_is_counted_once(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    first = paid.begun(task)
    world.clock.advance(60)
    assert paid.begun(task) == first


ENDS = {
    "delivered": lambda world, task: world.tasks.deliver(task, result=RESULT, model="builtin"),
    "failed": lambda world, task: world.tasks.abandon(task, FAILED),
    "canceled": lambda world, task: world.tasks.cancel(task.task_id, owner="ann"),
    "timed out": lambda world, task: (world.clock.advance(START_S), world.tasks.time_out(task))[1],
}


@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("first", ENDS)
def test_of_two_ends_the_first_one_counts(paid: PaidTasks, world: World, first: str, second: str) -> None:
    task = submitted(paid)
    ended, entries = ENDS[first](world, task), account(world)
    assert len(entries) == (1 if first == "delivered" else 2)
    try:
        assert ENDS[second](world, task) == ended
    except Conflict as refused:
        assert (second, refused.code) == ("canceled", "task_finished")  # noqa: PT017 - only a cancellation is told so
    assert world.tasks.find("task-1") == ended
    assert account(world) == entries


def test_a_task_that_was_made_anew_is_not_paid_back_for_the_old_one(paid: PaidTasks, world: World) -> None:
    old = world.tasks.abandon(submitted(paid), FAILED)
    world.clock.advance(PAID_RESULT_S + 1)
    again = ordered(paid)
    assert again.nonce != old.nonce
    assert world.tasks.abandon(old, FAILED).status is Status.PENDING
    assert world.tasks.time_out(old).status is Status.PENDING
    assert world.tasks.deliver(old, result=RESULT, model="builtin").status is Status.PENDING
    assert paid.submitted(old, "a prediction of the old one").prediction_id is None
    assert paid.begun(old).status is Status.PENDING
    assert paid.put_off(old, 60).ask_after_ms == again.ask_after_ms
    assert paid.hand_over_again(replace(old, ask_after_ms=again.ask_after_ms)) is None
    world.clock.advance(HAND_OVER_S)
    assert paid.sweep(replace(old, status=Status.PENDING)) is None
    assert world.tasks.find("task-1") == again
    assert world.ledger.balance("ann") == 15


# Who may ask


def test_the_provider_is_asked_by_one_of_many(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    assert [paid.look("task-1", owner="ann")[1] for _ in range(3)] == [True, False, False]
    world.clock.advance(ASK_EVERY_MS / 1000 - 0.001)
    assert not paid.look("task-1", owner="ann")[1]
    world.clock.advance(0.001)
    assert paid.look("task-1", owner="ann")[1]


def test_who_has_paid_hands_over_before_anybody_else_may(paid: PaidTasks, world: World) -> None:
    ordered(paid)
    world.clock.advance(HAND_OVER_S - 0.001)
    assert not paid.look("task-1", owner="ann")[1]
    world.clock.advance(0.001)
    assert paid.look("task-1", owner="ann")[1]


def test_a_finished_task_is_looked_at_and_nobody_asked(paid: PaidTasks, world: World) -> None:
    done = world.tasks.deliver(submitted(paid), result=RESULT, model="builtin")
    assert paid.look("task-1", owner="ann") == (done, False)


def test_somebody_elses_and_another_kind_are_not_there(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    text = world.tasks.add(world.tasks.new(task_id="text", kind="score", owner="ann", fingerprint="f"))
    for task_id, owner in (("task-1", "bob"), (text.task_id, "ann"), ("none", "ann")):
        with pytest.raises(NotFound):
            paid.look(task_id, owner=owner)


def test_a_look_at_what_is_overdue_ends_it(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    world.clock.advance(START_S)
    task, mine = paid.look("task-1", owner="ann")
    assert (task.status, mine) == (Status.FAILED, False)
    assert account(world) == paid_back("not_started")


def test_of_two_who_hand_over_again_one_does(paid: PaidTasks, world: World) -> None:
    task = ordered(paid)
    world.clock.advance(HAND_OVER_S)
    task, mine = paid.look("task-1", owner="ann")
    assert mine
    first = paid.hand_over_again(task)
    assert first is not None
    assert (first.attempt, first.ask_after_ms) == (1, int((world.clock() + 2 * HAND_OVER_S) * 1000))
    assert paid.hand_over_again(task) is None
    world.clock.advance(2 * HAND_OVER_S)
    later, _ = paid.look("task-1", owner="ann")
    assert paid.hand_over_again(later) is not None
    assert paid.hand_over_again(submitted(paid, task_id="task-2")) is None, "it is taken"


def test_who_is_put_off_for_longer_stays_so(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    until_ms = int((world.clock() + 60) * 1000)
    assert paid.put_off(task, 60).ask_after_ms == until_ms
    assert paid.put_off(task, 30).ask_after_ms == until_ms
    assert paid.put_off(task, 3_600).ask_after_ms == int((world.clock() + LONGEST_PAUSE_S) * 1000)


def test_the_first_of_two_predictions_counts(paid: PaidTasks) -> None:
    task = ordered(paid)
    assert paid.submitted(task, "one").prediction_id == "one"
    assert paid.submitted(task, "two").prediction_id == "one"


def test_a_prediction_for_what_has_ended_is_not_noted(paid: PaidTasks, world: World) -> None:
    task = ordered(paid)
    world.tasks.cancel("task-1", owner="ann")
    assert paid.submitted(task, "one").prediction_id is None


# Without a reader


def test_what_is_owed_is_due_again_and_again(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    assert list(due(world.tasks, "images")) == []
    world.clock.advance(paid.sweep_s)
    assert [found.task_id for found in due(world.tasks, "images")] == ["task-1"]
    assert paid.sweep(task) is not None
    assert paid.sweep(task) is None, "somebody has just asked"
    assert list(due(world.tasks, "images")) == []
    world.clock.advance(paid.sweep_s)
    assert [found.task_id for found in due(world.tasks, "images")] == ["task-1"]


def test_a_sweep_ends_what_is_overdue(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    world.clock.advance(START_S)
    assert paid.sweep(task) is None
    assert account(world) == paid_back("not_started")
    assert list(due(world.tasks, "images")) == []


def test_what_was_given_up_at_work_is_looked_at_once_more(paid: PaidTasks, world: World) -> None:
    submitted(paid)
    world.tasks.cancel("task-1", owner="ann")
    world.clock.advance(LOOK_AFTER_S)
    (late,) = due(world.tasks, LATE)
    noted = paid.late(late)
    assert (noted.status, noted.late_success_at_ms) == (Status.CANCELED, int(world.clock() * 1000))
    assert list(due(world.tasks, LATE)) == []
    assert account(world) == paid_back("canceled")


def test_what_the_provider_gave_up_itself_is_not_looked_for(paid: PaidTasks, world: World) -> None:
    world.tasks.abandon(submitted(paid), FAILED)
    world.clock.advance(LOOK_AFTER_S)
    assert list(due(world.tasks, LATE)) == []


def test_what_was_handed_over_while_it_was_given_up_is_looked_at(paid: PaidTasks, world: World) -> None:
    copy = ordered(paid)
    paid.submitted(copy, "prediction-1")
    world.clock.advance(START_S)
    assert world.tasks.time_out(copy).status is Status.FAILED
    world.clock.advance(LOOK_AFTER_S)
    assert [found.prediction_id for found in due(world.tasks, LATE)] == ["prediction-1"]


def test_a_success_in_time_is_never_noted_as_late(paid: PaidTasks, world: World) -> None:
    task = submitted(paid)
    done = world.tasks.deliver(task, result=RESULT, model="builtin")
    assert paid.late(task) == done
    assert paid.let_go(task) == done
