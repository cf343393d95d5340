"""The moves of a task, each one conditional write: submit, claim, complete, fail, give back, time out, cancel; and for
humans: review, take, judge.

A move names the state it leaves; whoever comes second learns what happened and changes nothing. The end of a task that
was paid for, without its result, is one transaction with its refund.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from isolane.aws.table import Table
from isolane.aws.transaction import Update, transact
from isolane.contention import patience, persist
from isolane.ending import End, end
from isolane.errors import ConditionFailed, Conflict, Gone, NotFound, TransactionRefused
from isolane.ledger import Ledger
from isolane.observability import count
from isolane.task import (
    REVIEWS,
    TERMINAL,
    UNFINISHED_ROW_S,
    UNFINISHED_S,
    UNREVIEWED_S,
    Claim,
    Claimed,
    Problem,
    Status,
    Task,
    as_text,
    from_row,
    is_task_id,
    read_refusal,
    to_row,
)

# The clauses of the conditions, each with the race that it closes.

ABSENT_OR_EXPIRED = "(attribute_not_exists(#task_id) OR #expires_at <= :now_s)"
"""Two submits under one key; and TTL, which deletes an expired row late."""
THE_SAME_SUBMISSION = "#nonce = :nonce"
"""A message whose row was never written, or belongs to another submit under the same key."""
FREE = "(#status = :pending OR (#status = :processing AND #claim_until_ms <= :now_ms))"
"""Two deliveries of one message; and a worker that died with its claim."""
IN_TIME = "#deadline_ms > :now_ms"
"""A delivery that comes after the deadline."""
HAS_ATTEMPTS_LEFT = "#attempt < :max_attempts"
"""A message that kills each worker that touches it."""
STILL_MINE = "#status = :processing AND #claim = :claim"
"""A worker that outlived its claim, or whose task was canceled, must not write."""
UNFINISHED = "#status IN (:pending, :processing, :in_review)"
"""Terminal once: nothing leaves a terminal state."""
A_WORKERS = "#status IN (:pending, :processing)"
"""A late worker has handed it to a human: what its message has come to does not matter any more."""
PAST_ITS_DEADLINE = "#deadline_ms <= :now_ms"
"""A reader with an old copy of the task must not time out one that was given more time."""
ITS_OWNER = "#owner = :owner"
"""Somebody who guessed an id."""
NOT_PAID_FOR = "attribute_not_exists(#price)"
"""A cancellation that would end what was paid for, and give nothing back."""
IN_REVIEW = "#status = :in_review"
"""A task that was canceled, timed out or judged while a reviewer looked at it."""
NOBODY_ELSES = "(attribute_not_exists(#reviewer) OR #reviewer = :reviewer OR #lease_until_ms <= :now_ms)"
"""Two reviewers who take one task; and one who took it and went home."""
STILL_THEIRS = "#reviewer = :reviewer"
"""A reviewer whose lease lapsed and went to another; or who has seen what an earlier submission under this id said."""

_TIMED_OUT = Problem(code="timed_out", message="The task was not finished in time.")
_NOT_STARTED = Problem(code="not_started", message="The task was not started in time.")
_CANCELED = "canceled"


@dataclass(frozen=True)
class Tasks:
    """All tasks of a deployment, in one table."""

    table: Table
    ledger: Ledger
    """Where the price of what was paid for comes back to."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def new(self, *, task_id: str, kind: str, owner: str, fingerprint: str) -> Task:
        """A pending task that is not written yet; what to send a message about."""
        now_ms = self.now_ms()
        return Task(
            task_id=task_id,
            kind=kind,
            owner=owner,
            nonce=uuid4().hex,
            fingerprint=fingerprint,
            created_at_ms=now_ms,
            deadline_ms=now_ms + UNFINISHED_S * 1000,
            ttl=now_ms // 1000 + UNFINISHED_ROW_S,
        )

    def add(self, task: Task) -> Task:
        """Writes a new task. Returns the one that is there: the given one, or another that took the id first."""
        try:
            self.table.put(to_row(task), when=ABSENT_OR_EXPIRED, values={"now_s": self.now_ms() // 1000})
        except ConditionFailed as refusal:
            return from_row(refusal.found) if refusal.found is not None else task
        return task

    def find(self, task_id: str) -> Task | None:
        """The task as it is in the table, whoever asks and however old it is."""
        row = self.table.get({"task_id": task_id})
        return from_row(row) if row is not None else None

    def read(self, task_id: str, *, owner: str) -> Task:
        """The task for its owner. Raises NotFound (also for somebody else's) and Gone once its result has expired."""
        return self.seen_by(self.find(task_id) if is_task_id(task_id) else None, owner=owner)

    def seen_by(self, task: Task | None, *, owner: str) -> Task:
        """The task for its owner, as it is once it is known that its deadline has passed."""
        return self.settled(self._there(task, owner=owner))

    def _there(self, task: Task | None, *, owner: str) -> Task:
        now_ms = self.now_ms()
        if task is None or task.owner != owner or task.forgotten(now_ms):
            raise NotFound("There is no such task.", code="task_not_found")
        if task.expired(now_ms):
            raise Gone("The task was finished, and its result has expired.", code="task_expired")
        return task

    def settled(self, task: Task) -> Task:
        """The task, failed as timed out if its deadline has passed."""
        return self.time_out(task) if task.overdue(self.now_ms()) else task

    def claim(self, task_id: str, *, nonce: str, until_ms: int, max_attempts: int) -> Claim:
        """Takes the task for work until then and counts an attempt; or says why not."""
        now_ms, claim = self.now_ms(), uuid4().hex
        try:
            row = self.table.update(
                {"task_id": task_id},
                "SET #status = :processing, #claim = :claim, #claim_until_ms = :until_ms, "
                "#attempt = #attempt + :one, #started_at_ms = if_not_exists(#started_at_ms, :now_ms)",
                when=f"{THE_SAME_SUBMISSION} AND {FREE} AND {IN_TIME} AND {HAS_ATTEMPTS_LEFT}",
                values=_states(
                    claim=claim, nonce=nonce, until_ms=until_ms, now_ms=now_ms, max_attempts=max_attempts, one=1
                ),
            )
        except ConditionFailed as refusal:
            return read_refusal(refusal.found, nonce=nonce, claim=claim, now_ms=now_ms)
        return Claimed(task=from_row(row))

    def give_back(self, task: Task, *, attempted: bool) -> Task:
        """Lets a claimed task be claimed again at once; with `attempted=False` the attempt is not counted."""
        return self._move(
            task,
            "SET #status = :pending, #attempt = #attempt - :uncounted REMOVE #claim, #claim_until_ms",
            when=STILL_MINE,
            values={"claim": task.claim, "uncounted": 0 if attempted else 1},
        )

    def tell_progress(self, task: Task, progress: Any) -> bool:
        """Writes how far a claimed task is. Says whether it is still mine."""
        try:
            self.table.update(
                {"task_id": task.task_id},
                "SET #progress = :progress",
                when=STILL_MINE,
                values=_states(claim=task.claim, progress=as_text(progress)),
                returns="NONE",
            )
        except ConditionFailed:
            return False
        return True

    def complete(self, task: Task, *, result: Any, model: str | None = None, cached: bool = False) -> Task:
        """Ends a claimed task with its result. Returns it as it is: completed, or what somebody else made of it."""
        fields = {**_result(result, model=model), **({"cached": True} if cached else {})}
        completed = end(Status.COMPLETED, now_ms=self.now_ms(), claim=task.claim, fields=fields)
        return self._finish(task, completed, when=STILL_MINE)

    def deliver(self, task: Task, *, result: Any, model: str) -> Task:
        """Ends a task with what its provider has made, whoever has seen it first. Returns it as it is."""
        delivered = end(
            Status.COMPLETED,
            now_ms=self.now_ms(),
            claim=uuid4().hex,
            fields=_result(result, model=model),
            paid=task.paid,
        )
        ended = self._finish(task, delivered, when=f"{A_WORKERS} AND {THE_SAME_SUBMISSION}")
        if ended.claim == delivered.fields["claim"]:  # else it was counted by somebody
            count("delivered")
        return ended

    def fail(self, task: Task, problem: Problem) -> Task:
        """Ends a claimed task without one."""
        return self._fail(task, problem, when=STILL_MINE, claim=task.claim)

    def abandon(self, task: Task, problem: Problem, *, left_at_work: bool = False) -> Task:
        """Fails a task that nobody will work on any more, whoever held it: its message is a dead letter, for one."""
        when = f"{A_WORKERS} AND {THE_SAME_SUBMISSION}"
        return self._fail(task, problem, when=when, left_at_work=left_at_work)

    def time_out(self, task: Task) -> Task:
        """Fails a task whose deadline has passed."""
        problem = _NOT_STARTED if task.paid and task.status is Status.PENDING else _TIMED_OUT
        when = f"{UNFINISHED} AND {PAST_ITS_DEADLINE} AND {THE_SAME_SUBMISSION}"
        return self._fail(task, problem, when=when, left_at_work=task.paid)

    def cancel(self, task_id: str, *, owner: str) -> Task:
        """Cancels the owner's task. Raises NotFound, Gone, or Conflict `task_finished` where it is terminal already."""
        if not is_task_id(task_id):
            return self.seen_by(None, owner=owner)
        canceled = end(Status.CANCELED, now_ms=self.now_ms(), claim=uuid4().hex, gone=("error",))
        when = f"{ITS_OWNER} AND {UNFINISHED} AND {NOT_PAID_FOR}"
        try:
            return from_row(self._write(task_id, canceled, when=when, owner=owner))
        except ConditionFailed as refusal:
            found = from_row(refusal.found) if refusal.found is not None else None
            task = self.seen_by(found, owner=owner)
        if task.paid and not task.terminal:
            task = self._cancel_paid(task, claim=canceled.fields["claim"])
        return _canceled(task, claim=canceled.fields["claim"])

    def _cancel_paid(self, task: Task, *, claim: str) -> Task:
        canceled = end(
            Status.CANCELED,
            now_ms=self.now_ms(),
            claim=claim,
            paid=True,
            left_at_work=True,
        )
        return self._pay_back(task, canceled, when=f"{UNFINISHED} AND {THE_SAME_SUBMISSION}", reason=_CANCELED)

    def review(self, task: Task, *, reason: Problem, provisional: Any | None) -> Task:
        """Hands a claimed task to a human, with the score it would have had, where there is one."""
        deadline_s = self.now_ms() // 1000 + UNREVIEWED_S
        fields = {
            **_error(reason),
            **({"provisional": as_text(provisional)} if provisional is not None else {}),
            "deadline_ms": deadline_s * 1000,
            "ttl": deadline_s + UNFINISHED_ROW_S - UNFINISHED_S,
            "due": REVIEWS,
            "due_at": deadline_s,
        }
        return self._move(
            task,
            f"SET #status = :in_review{_sets(fields)} REMOVE #claim_until_ms, #progress",
            when=STILL_MINE,
            values={"claim": task.claim, **fields},
        )

    def take(self, task_id: str, *, reviewer: str, until_ms: int) -> Task | None:
        """Lends a task in review to a reviewer until then, and no other; None where it is not to be had."""
        try:
            row = self.table.update(
                {"task_id": task_id},
                "SET #reviewer = :reviewer, #lease_until_ms = :until_ms",
                when=f"{IN_REVIEW} AND {IN_TIME} AND {NOBODY_ELSES}",
                values=_states(reviewer=reviewer, until_ms=until_ms, now_ms=self.now_ms()),
            )
        except ConditionFailed:
            return None
        return from_row(row)

    def judge(self, task_id: str, *, reviewer: str, result: Any, model: str) -> Task:
        """Ends a task with the verdict of the reviewer who took it; once more the same is the same.

        Raises NotFound, Gone, or Conflict: `task_finished`, `review_taken` by another, `review_not_taken` at all.
        """
        if not is_task_id(task_id):
            raise NotFound("There is no such task.", code="task_not_found")
        when = f"{IN_REVIEW} AND {IN_TIME} AND {STILL_THEIRS}"
        judged = end(
            Status.COMPLETED,
            now_ms=self.now_ms(),
            claim=uuid4().hex,
            fields=_result(result, model=model),
            gone=("error",),
        )
        try:
            return from_row(self._write(task_id, judged, when=when, reviewer=reviewer))
        except ConditionFailed as refusal:
            return self._judged(refusal, reviewer=reviewer, result=result)

    def _judged(self, refusal: ConditionFailed, *, reviewer: str, result: Any) -> Task:
        """What a refused verdict met: the same verdict, or a reason why it comes to nothing."""
        found = from_row(refusal.found) if refusal.found is not None else None
        there = self._there(found, owner=found.owner if found is not None else "")
        task = there if there.paid else self.settled(there)  # nobody reviews what was paid for, or pays it back here
        if task.status is Status.COMPLETED and task.reviewer == reviewer and task.result == result:
            return task
        raise _no_verdict(task, reviewer=reviewer, now_ms=self.now_ms())

    def _fail(
        self, task: Task, problem: Problem, *, when: str, claim: str | None = None, left_at_work: bool = False
    ) -> Task:
        """Fails the task, and counts it, whoever comes here: worker, reader, sweeper or dead letter."""
        failed = end(
            Status.FAILED,
            now_ms=self.now_ms(),
            claim=claim if claim is not None else uuid4().hex,
            fields=_error(problem),
            paid=task.paid,
            left_at_work=left_at_work,
        )
        if task.paid:
            ended = self._pay_back(task, failed, when=when, reason=problem.code)
        else:
            ended = self._finish(task, failed, when=when)
        if ended.status is Status.FAILED and ended.claim == failed.fields["claim"]:  # else it was counted by somebody
            count("failed")
        return ended

    def _finish(self, task: Task, ended: End, *, when: str) -> Task:
        try:
            return from_row(self._write(task.task_id, ended, when=when, nonce=task.nonce))
        except ConditionFailed as refusal:
            # Also where this very write was applied and its answer lost: then what is found is what was wanted.
            return from_row(refusal.found) if refusal.found is not None else task

    def _pay_back(self, task: Task, ended: End, *, when: str, reason: str) -> Task:
        """Ends a task without the result that was paid for, and gives back its price: both, once, or neither."""
        at_ms: int = ended.fields["finished_at_ms"]
        values = _states(**ended.fields, nonce=task.nonce, now_ms=at_ms)
        ending = Update(self.table, {"task_id": task.task_id}, ended.change, when=when, values=values)
        refund = self.ledger.refund(
            task.owner, amount=task.price or 0, reason=reason, task_id=task.task_id, at_ms=at_ms
        )
        try:
            persist(lambda: transact([ending, *refund]), until=patience(None), sleep=self.ledger.sleep)
        except TransactionRefused as refusal:
            met = refusal.refusals[0]
            return from_row(met.found) if met is not None and met.found is not None else task
        return ended.of(task)

    def _write(self, task_id: str, ended: End, *, when: str, **values: Any) -> dict[str, Any]:
        return self.table.update(
            {"task_id": task_id},
            ended.change,
            when=when,
            values=_states(**ended.fields, now_ms=ended.fields["finished_at_ms"], **values),
        )

    def _move(self, task: Task, change: str, *, when: str, values: Mapping[str, Any]) -> Task:
        try:
            return from_row(self.table.update({"task_id": task.task_id}, change, when=when, values=_states(**values)))
        except ConditionFailed as refusal:
            return from_row(refusal.found) if refusal.found is not None else task


def _states(**values: Any) -> dict[str, Any]:
    return {**{str(status): str(status) for status in Status if status not in TERMINAL}, **values}


def _sets(fields: Mapping[str, Any]) -> str:
    return "".join(f", #{name} = :{name}" for name in fields)


def _result(result: Any, *, model: str | None) -> dict[str, str]:
    return {"result": as_text(result), **({"model": model} if model is not None else {})}


def _error(problem: Problem) -> dict[str, str]:
    return {"error": as_text(vars(problem))}


def _canceled(task: Task, *, claim: str) -> Task:
    if task.status is Status.CANCELED and task.claim == claim:
        return task  # the first try was applied and its answer lost
    raise Conflict("The task is finished already.", code="task_finished")


def _no_verdict(task: Task, *, reviewer: str, now_ms: int) -> Conflict:
    if task.terminal:
        return Conflict("The task is finished already.", code="task_finished")
    lent = task.lease_until_ms is not None and task.lease_until_ms > now_ms
    if task.status is Status.IN_REVIEW and lent and task.reviewer != reviewer:
        return Conflict("Another reviewer has taken the task.", code="review_taken")
    return Conflict("A task is taken before it is judged.", code="review_not_taken")
