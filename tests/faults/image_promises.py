"""What holds of pictures and of the credits that they cost, whatever went wrong on the way."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from isolane.task import Status, Task
from tests.faults.broken import require
from tests.faults.case import OWNER, PRICE, Case
from tests.faults.image_moves import is_picture, is_slot
from tests.faults.right_answers import picture_of, place_of

_ACCOUNT = f"account#{OWNER}"
_ENTRY = f"{_ACCOUNT}/entry#"
_BALANCE = f"{_ENTRY}999999999999999#balance"
_PAID_BACK = (Status.FAILED, Status.CANCELED)


def balance_is_the_sum_of_entries(case: Case) -> None:
    """At rest what somebody has is what the entries come to; at no time is it less than nothing."""
    for balance in _balances(case):
        require(balance >= 0, "an account is below zero")
    entries = sum(entry["credits"] for entry in _entries(case))
    require(_balances(case)[-1] == entries, f"the entries come to {entries}, and the balance to another sum")


def entries_stand(case: Case) -> None:
    """An entry is written once, and never changes or goes."""
    for change in case.changes:
        if change.key.startswith(_ENTRY) and change.key != _BALANCE:
            require(change.before is None and change.after is not None, "an entry was changed, or is lost")


def a_grant_counts_once(case: Case) -> None:
    """Credits come once for each id, however often they are granted."""
    grants = Counter(entry["entry_id"] for entry in _entries(case) if entry["reason"] == "grant")
    require(all(times == 1 for times in grants.values()), "a grant counts twice")


def each_picture_is_charged_once(case: Case) -> None:
    """Every task has its charge, of its price, and there is no charge for anything else."""
    charges = Counter((entry["entry_id"], entry["at_ms"], entry["credits"]) for entry in _entries(case, "charge#"))
    tasks = Counter((f"charge#{task.task_id}", task.created_at_ms, -(task.price or 0)) for task in _pictures(case))
    require(
        charges == tasks, f"{sum(tasks.values())} tasks, and {sum(charges.values())} charges, or others than theirs"
    )
    require(all(task.price == PRICE for task in _pictures(case)), "a picture has another price")


def each_charge_is_delivered_or_paid_back(case: Case) -> None:
    """At rest a picture is there, or its price has come back, once, with the reason for which it is not."""
    refunds = Counter(
        (entry["entry_id"], entry["at_ms"], entry["credits"], entry["reason"]) for entry in _entries(case, "refund#")
    )
    owed = Counter(
        (f"refund#{task.task_id}", task.finished_at_ms, task.price, _reason(task))
        for task in _pictures(case)
        if task.status in _PAID_BACK
    )
    require(refunds == owed, f"{sum(owed.values())} pictures were not delivered, and refunds are {refunds}")
    for task in _pictures(case):
        require(task.terminal, f"a picture is {task.status} for ever")


def what_is_delivered_can_be_seen(case: Case) -> None:
    """The picture of a completed task lies under its key, is whole, and shows what was ordered; no other has one."""
    for task in _pictures(case):
        if task.status is Status.COMPLETED:
            right = picture_of(task.prompt or "")
            if task.nonce in case.pictures:
                require(case.pictures[task.nonce] == right, "what was ordered does not lie where it should")
            sides = int.from_bytes(right[16:20]), int.from_bytes(right[20:24])
            require((task.result["width"], task.result["height"]) == sides, "another picture's result")
        else:
            require(task.result is None, f"it has a result, and is {task.status}")


def links_lead_to_what_is_delivered(case: Case) -> None:
    """Whoever got a link got it with a completed task, to that task's own picture."""
    keys = {(task.task_id, place_of(task)) for task in _pictures(case) if task.status is Status.COMPLETED}
    for answer in case.answers:
        for told in (answer.body, *answer.body.get("images", [])):
            if "imageUrl" in told:
                ours = any(name == told["taskId"] and f"/{key}?" in told["imageUrl"] for name, key in keys)
                require(ours and told["status"] == Status.COMPLETED, "a link leads to what was not delivered")
            else:
                require(told.get("kind") != "image" or told["status"] != Status.COMPLETED, "no link was given")


def the_provider_makes_one_picture_for_each_that_is_paid(case: Case) -> None:
    """It was handed nothing but what was paid for; where it heeds keys, it has one prediction of each task."""
    nonces = {task.nonce for task in _pictures(case)}
    require(set(case.provider.submitted) <= nonces, "the provider was given what nobody has paid for")
    if case.provider.heeds_keys:
        for task in _pictures(case):
            made = case.provider.predictions.get(task.nonce, [])
            require(len(made) <= 1 and task.prediction_id in (None, *made), "two predictions, or another's")


def the_provider_is_asked_once_a_slot(case: Case) -> None:
    """While somebody waits it is spoken to once for each order and once for each slot of two seconds, by whomever."""
    slots = Counter(move.after.nonce for move in case.moves if move.after is not None and is_slot(move))
    for nonce, times in case.provider.waited_for.items():
        require(times <= slots[nonce] + 1, f"the provider was asked {times} times in {slots[nonce]} slots")


def nobody_makes_what_nobody_waits_for(case: Case) -> None:
    """What the provider was at when it was given up is stopped there, or was seen to be over."""
    rows = case.rows("TasksTable")
    for task in _pictures(case):
        known = rows[task.task_id]["nonce"] == task.nonce  # what was made anew under its key is not looked at any more
        if known and task.status in _PAID_BACK and task.prediction_id is not None:
            require(task.prediction_id in case.provider.over, "the provider still makes what was given up")


def what_came_late_was_made(case: Case) -> None:
    """Only where the provider said that there is a picture is one noted as late, or as delivered."""
    for task in _pictures(case):
        if task.late_success_at_ms is not None or task.status is Status.COMPLETED:
            require(task.prediction_id in case.provider.finished, "it is noted as made, and was not")


def who_was_refused_had_too_few(case: Case) -> None:
    """Whoever was told that the credits do not cover it was told a balance that there was, and that does not."""
    for answer in case.answers:
        if answer.status == 402:
            require(answer.body["balance"] < PRICE, "refused, and the credits would have covered it")
        if answer.status in (200, 402) and "balance" in answer.body:
            require(answer.body["balance"] in _balances(case), "a balance was told that there never was")


def one_picture_a_key(case: Case) -> None:
    """Orders under one key are answered with one task, and it is about what was ordered."""
    for key in {answer.asked for answer in case.answers if answer.asked.startswith("order key")}:
        told = [answer.body for answer in case.answers if answer.asked == key and answer.status in (200, 202)]
        require(len({body["taskId"] for body in told}) <= 1, f"{key}: answered with several tasks")
    for answer in case.answers:
        if answer.asked.startswith("order") and answer.status in (200, 202):
            require(answer.body["prompt"] == answer.text, "an order was answered with a task about another prompt")


def _pictures(case: Case) -> list[Task]:
    """Every task that there was, also under one id one after the other, as it was last."""
    last = {move.after.nonce: move.after for move in case.moves if move.after is not None and is_picture(move.after)}
    return list(last.values())


def _entries(case: Case, prefix: str = "") -> list[Mapping[str, Any]]:
    rows = (row for key, row in case.rows("StateTable").items() if key.startswith(_ENTRY) and key != _BALANCE)
    return [row for row in rows if row["entry_id"].startswith(prefix)]


def _balances(case: Case) -> list[int]:
    """All that there were, in order."""
    changes = [change.after for change in case.changes if change.key == _BALANCE]
    require(None not in changes, "an account was lost")
    return [0, *(row["balance"] for row in changes if row is not None)]


def _reason(task: Task) -> str:
    return task.error.code if task.error is not None else str(task.status)


PROMISES: tuple[Callable[[Case], None], ...] = (
    balance_is_the_sum_of_entries,
    entries_stand,
    a_grant_counts_once,
    each_picture_is_charged_once,
    each_charge_is_delivered_or_paid_back,
    what_is_delivered_can_be_seen,
    links_lead_to_what_is_delivered,
    the_provider_makes_one_picture_for_each_that_is_paid,
    the_provider_is_asked_once_a_slot,
    nobody_makes_what_nobody_waits_for,
    what_came_late_was_made,
    who_was_refused_had_too_few,
    one_picture_a_key,
)
