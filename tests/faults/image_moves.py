"""The moves of a picture's task that are drawn: nobody claims it, any poller carries it on, and it is paid for."""

from collections.abc import Callable
from dataclasses import replace

from images.generations import KIND
from isolane.ending import LATE
from isolane.paid_tasks import ASK_EVERY_MS
from isolane.task import PAID_RESULT_S, REMEMBERED_S, Status, Task
from tests.faults.history import Move

FINISH_S = 1_800
"""How long the provider has from when it was seen to have begun; ImageFinishSeconds."""


def is_picture(task: Task) -> bool:
    return task.kind == KIND


def is_dated(task: Task) -> bool:
    """Its row stays for as long as something is owed, and thirty days and a day after that."""
    if not task.terminal:
        return (task.ttl, task.expires_at, task.finished_at_ms) == (None, None, None)
    expires_at = (task.finished_at_ms or 0) // 1000 + PAID_RESULT_S
    return (task.expires_at, task.ttl) == (expires_at, expires_at + REMEMBERED_S)


def is_slot(move: Move) -> bool:
    """Whether somebody has won the right to ask the provider."""
    before, after = move.before, move.after
    return before is not None and after is not None and not after.terminal and _took_slot(before, after, move)


def is_afterthought(move: Move) -> bool:
    """What a provider has made of a picture that was paid back is noted, or not looked for any more; and no more."""
    before, after = move.before, move.after
    if before is None or after is None or before.due != LATE or after.due is not None:
        return False
    noted = after.late_success_at_ms is not None and before.late_success_at_ms is None
    late = {"late_success_at_ms": after.late_success_at_ms} if noted else {}
    given_up = before.status in (Status.FAILED, Status.CANCELED)
    return given_up and replace(before, due=None, due_at=None, **late) == after  # type: ignore[arg-type]


def _took_slot(before: Task, after: Task, move: Move) -> bool:
    """The last one is over, and so is no deadline; the next is as long as any."""
    same = replace(before, ask_after_ms=after.ask_after_ms, due_at=after.due_at) == after
    free = (before.ask_after_ms or 0) <= move.at_ms and not before.overdue(move.asked_ms)
    return same and free and (after.ask_after_ms or 0) >= move.asked_ms + ASK_EVERY_MS


def _may_wait(before: Task, after: Task, move: Move) -> bool:
    drawn = (_took_slot, _was_handed_over, _is_handed_over_again, _is_put_off)
    return any(each(before, after, move) for each in drawn)


def _may_go_on(before: Task, after: Task, move: Move) -> bool:
    return _took_slot(before, after, move) or _is_put_off(before, after, move)


def _is_handed_over_again(before: Task, after: Task, _move: Move) -> bool:
    """By whoever has the turn; nobody else does for longer than a slot."""
    pause_ms = (after.ask_after_ms or 0) - (before.ask_after_ms or 0)
    untaken = before.prediction_id is None and pause_ms > ASK_EVERY_MS
    return untaken and replace(before, attempt=before.attempt + 1, ask_after_ms=after.ask_after_ms) == after


def _is_put_off(before: Task, after: Task, _move: Move) -> bool:
    """The provider is left alone for longer."""
    longer = (after.ask_after_ms or 0) > (before.ask_after_ms or 0)
    return longer and replace(before, ask_after_ms=after.ask_after_ms) == after


def _was_handed_over(before: Task, after: Task, _move: Move) -> bool:
    """The provider's first id of it, for good."""
    noted = {name: getattr(after, name) for name in ("prediction_id", "submitted_at_ms", "ask_after_ms")}
    first = before.prediction_id is None and after.prediction_id is not None
    return first and replace(before, attempt=before.attempt + 1, **noted) == after


def _has_begun(before: Task, after: Task, _move: Move) -> bool:
    """Once, from which on it has its time to finish."""
    started_ms = after.started_at_ms or 0
    begun = replace(before, status=Status.PROCESSING, started_at_ms=started_ms, deadline_ms=after.deadline_ms)
    return begun == after and after.deadline_ms == started_ms + FINISH_S * 1000


def _may_be_delivered(before: Task, after: Task, _move: Move) -> bool:
    return before.prediction_id is not None and after.result is not None


def _may_fail(before: Task, after: Task, move: Move) -> bool:
    code = after.error.code if after.error is not None else ""
    if code in ("timed_out", "not_started"):
        return before.overdue(move.at_ms) and (code == "not_started") == (before.status is Status.PENDING)
    return code != ""


def _always(_before: Task, _after: Task, _move: Move) -> bool:
    return True


_OPEN = (Status.PENDING, Status.PROCESSING)

MOVES: dict[tuple[Status, Status], Callable[[Task, Task, Move], bool]] = {
    (Status.PENDING, Status.PENDING): _may_wait,
    (Status.PENDING, Status.PROCESSING): _has_begun,
    (Status.PROCESSING, Status.PROCESSING): _may_go_on,
    **{(status, Status.COMPLETED): _may_be_delivered for status in _OPEN},
    **{(status, Status.FAILED): _may_fail for status in _OPEN},
    **{(status, Status.CANCELED): _always for status in _OPEN},
    **{
        (status, status): lambda _before, _after, move: is_afterthought(move)
        for status in (Status.FAILED, Status.CANCELED)
    },
}
