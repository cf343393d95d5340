"""The moves of a task that are drawn: who may make them, and when."""

from collections.abc import Callable
from dataclasses import replace

from isolane.task import RESULT_S, Status, Task
from tests.faults import image_moves
from tests.faults.case import CLAIM_S, MAX_ATTEMPTS
from tests.faults.history import Move

_WORK = (Status.PENDING, Status.PROCESSING)
_OPEN = (*_WORK, Status.IN_REVIEW)
_FIXED = ("owner", "kind", "fingerprint", "created_at_ms", "nonce", "price", "prompt", "image_owner")


def is_reborn(move: Move) -> bool:
    """A key was used again after its task had expired."""
    return (
        move.before is not None
        and move.after is not None
        and move.before.nonce != move.after.nonce
        and move.before.expired(move.at_ms)
    )


def may_be_born(task: Task) -> bool:
    fresh = task.attempt == 0 and task.claim is None
    return fresh and (task.status is Status.PENDING or (task.status is Status.COMPLETED and task.cached))


def may_move(before: Task, after: Task, *, move: Move) -> bool:
    same = all(getattr(before, name) == getattr(after, name) for name in _FIXED)
    moves, dated = (image_moves.MOVES, image_moves.is_dated) if image_moves.is_picture(after) else (_MOVES, _dated)
    drawn = moves.get((before.status, after.status))
    return same and dated(after) and drawn is not None and drawn(before, after, move)


def _dated(task: Task) -> bool:
    """The hour of a result starts when its task becomes terminal; DynamoDB reads a time to live in seconds."""
    if task.ttl is None or not 10**9 <= task.ttl < 10**10:
        return False
    if task.terminal:
        return task.finished_at_ms is not None and task.expires_at == task.finished_at_ms // 1000 + RESULT_S
    return task.expires_at is None and task.finished_at_ms is None


def _may_claim(before: Task, after: Task, move: Move) -> bool:
    """It is free, in time, and taken for as long as its function lives (an early half of that, where it was slow)."""
    lasts = (after.claim_until_ms or 0) >= move.asked_ms + CLAIM_S * 500
    free = before.status is Status.PENDING or (before.claim_until_ms or 0) <= move.at_ms
    return free and lasts and after.claim != before.claim and not before.overdue(move.asked_ms)


def _may_be_claimed_or_told(before: Task, after: Task, move: Move) -> bool:
    """Another claim, or its progress told under this one."""
    return _may_claim(before, after, move) or replace(before, progress=after.progress) == after


def _by_its_holder(before: Task, after: Task, _move: Move) -> bool:
    return before.claim == after.claim


def _may_fail(before: Task, after: Task, move: Move) -> bool:
    code = after.error.code if after.error is not None else ""
    if code == "timed_out":
        return before.overdue(move.at_ms)
    return before.status in _WORK and (code != "attempts_exhausted" or before.attempt == MAX_ATTEMPTS)


def _may_lend(before: Task, after: Task, move: Move) -> bool:
    """Nobody else has it, and it is in time."""
    free = before.reviewer in (None, after.reviewer) or (before.lease_until_ms or 0) <= move.at_ms
    return free and after.reviewer is not None and not before.overdue(move.asked_ms)


def _by_its_reviewer(before: Task, after: Task, move: Move) -> bool:
    return before.reviewer is not None and before.reviewer == after.reviewer and not before.overdue(move.asked_ms)


def _always(_before: Task, _after: Task, _move: Move) -> bool:
    return True


_MOVES: dict[tuple[Status, Status], Callable[[Task, Task, Move], bool]] = {
    (Status.PENDING, Status.PROCESSING): _may_claim,
    (Status.PROCESSING, Status.PROCESSING): _may_be_claimed_or_told,
    (Status.PROCESSING, Status.PENDING): _always,
    (Status.PROCESSING, Status.COMPLETED): _by_its_holder,
    (Status.PROCESSING, Status.IN_REVIEW): _by_its_holder,
    (Status.IN_REVIEW, Status.IN_REVIEW): _may_lend,
    (Status.IN_REVIEW, Status.COMPLETED): _by_its_reviewer,
    **{(status, Status.FAILED): _may_fail for status in _OPEN},
    **{(status, Status.CANCELED): _always for status in _OPEN},
}


def claims_won(move: Move) -> int:
    """1 where the move is a claim, else 0."""
    claimed = move.after is not None and move.after.status is Status.PROCESSING
    return int(claimed and (move.before is None or move.after.claim != move.before.claim))  # type: ignore[union-attr]


def is_given_up(move: Move, *, counted: int) -> bool:
    assert move.before is not None
    assert move.after is not None
    given_back = (move.before.status, move.after.status) == (Status.PROCESSING, Status.PENDING)
    return given_back and counted == -1
