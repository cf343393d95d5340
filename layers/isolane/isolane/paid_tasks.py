"""Tasks that are paid for when they are asked for, and that somebody else's server works on: each poll carries them on.

A move is one write, or one transaction where credits move; the moves that end such a task are those of `tasks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isolane.aws.transaction import Put, transact
from isolane.contention import patience, persist
from isolane.errors import ConditionFailed, IdempotencyMismatch, InsufficientCredits, TransactionRefused
from isolane.ledger import balance_of
from isolane.task import Status, Task, from_row, is_task_id, to_row
from isolane.tasks import A_WORKERS, ABSENT_OR_EXPIRED, IN_TIME, ITS_OWNER, THE_SAME_SUBMISSION, Tasks

# The clauses of the conditions, each with the race that it closes.

NOT_ASKED_LATELY = "#ask_after_ms <= :now_ms"
"""Any number of pollers: the provider is asked by one of them."""
NOT_TAKEN_YET = "attribute_not_exists(#prediction_id)"
"""Two who hand the same work over: the provider's first id is the one that is asked about."""
THE_SAME_TURN = "#ask_after_ms = :turn_ms"
"""Two who had a turn each, and meet: the work is handed over by the later one."""
NOT_PUT_OFF = "#ask_after_ms < :next_ms"
"""Somebody whom the provider has asked to wait for longer."""
NOT_BEGUN = "#status = :pending"
"""Two who see that the provider has begun: the time to finish is counted once."""
PAID_BACK = "#status IN (:failed, :canceled)"
"""A success that is late in one copy of the task, and in time in the table."""

ASK_EVERY_MS = 2_000
"""One question to the provider answers for everybody for so long."""
LONGEST_PAUSE_S = 120.0
"""Between two tries to hand work over, and for which a provider can have itself left alone."""


@dataclass(frozen=True)
class PaidTasks:
    """The paid tasks of one kind of work."""

    tasks: Tasks
    kind: str
    duty: str
    """What they are due for while something is owed; by this the sweeper finds them."""
    start_s: int
    """How long the provider has to begin."""
    finish_s: int
    """And how long to finish, from when it was seen to have begun."""
    hand_over_s: float
    """How long nobody else hands over the work of somebody who has just been charged."""
    sweep_s: int = 30
    """How often a task is looked at without a reader."""

    def new(self, *, task_id: str, owner: str, fingerprint: str, prompt: str, price: int) -> Task:
        """A pending task that is neither written nor paid for yet."""
        new = self.tasks.new(task_id=task_id, kind=self.kind, owner=owner, fingerprint=fingerprint)
        return replace(
            new,
            ttl=None,
            deadline_ms=new.created_at_ms + self.start_s * 1000,
            due=self.duty,
            due_at=new.created_at_ms // 1000 + self.sweep_s,
            ask_after_ms=new.created_at_ms + int(self.hand_over_s * 1000),
            price=price,
            image_owner=owner,
            prompt=prompt,
        )

    def add(self, new: Task) -> Task:
        """Charges the owner and writes the task: both, once, or neither. Returns the task that is there.

        Raises InsufficientCredits, and IdempotencyMismatch where another request has taken the id.
        """
        charge = self.tasks.ledger.charge(
            new.owner, amount=new.price or 0, reason=new.kind, task_id=new.task_id, at_ms=new.created_at_ms
        )
        values = {"now_s": self.tasks.now_ms() // 1000}
        # Before the account: where both refuse, some emulators tell the first one only.
        task = Put(self.tasks.table, to_row(new), when=ABSENT_OR_EXPIRED, values=values)
        try:
            persist(lambda: transact([task, *charge]), until=patience(None), sleep=self.tasks.ledger.sleep)
        except TransactionRefused as refusal:
            return _there(refusal, new=new)
        return new

    def look(self, task_id: str, *, owner: str) -> tuple[Task, bool]:
        """The owner's task, and whether I am the one who may ask its provider now.

        Raises NotFound and Gone, as `tasks.read` does.
        """
        if not is_task_id(task_id):
            return self.tasks.seen_by(None, owner=owner), False
        when = f"{ITS_OWNER} AND {A_WORKERS} AND {NOT_ASKED_LATELY} AND {IN_TIME}"
        try:
            return self._slot(task_id, "SET #ask_after_ms = :next_ms", when=when, owner=owner), True
        except ConditionFailed as refusal:
            found = from_row(refusal.found) if refusal.found is not None else None
            ours = found if found is not None and found.kind == self.kind else None
            return self.tasks.seen_by(ours, owner=owner), False

    def sweep(self, task: Task) -> Task | None:
        """The task, if it is on me to ask its provider now: it has not been asked lately, and is not over."""
        if task.overdue(self.tasks.now_ms()):
            self.tasks.time_out(task)
            return None
        due_at = self.tasks.now_ms() // 1000 + self.sweep_s
        change = "SET #ask_after_ms = :next_ms, #due_at = :due_at"
        when = f"{THE_SAME_SUBMISSION} AND {A_WORKERS} AND {NOT_ASKED_LATELY} AND {IN_TIME}"
        try:
            return self._slot(task.task_id, change, when=when, nonce=task.nonce, due_at=due_at)
        except ConditionFailed:
            return None

    def hand_over_again(self, task: Task) -> Task | None:
        """The task, if it is on me to hand it over once more; nobody else does meanwhile, and the pauses double.

        So few tries, however many poll: not every provider heeds a key, and each may make a picture that nobody gets.
        """
        pause_s = min(self.hand_over_s * 2 ** min(task.attempt + 1, 10), LONGEST_PAUSE_S)
        try:
            row = self.tasks.table.update(
                {"task_id": task.task_id},
                "SET #ask_after_ms = :next_ms, #attempt = #attempt + :one",
                when=f"{A_WORKERS} AND {THE_SAME_SUBMISSION} AND {NOT_TAKEN_YET} AND {THE_SAME_TURN}",
                values={
                    **_STATES,
                    "nonce": task.nonce,
                    "turn_ms": task.ask_after_ms,
                    "next_ms": self.tasks.now_ms() + int(pause_s * 1000),
                    "one": 1,
                },
            )
        except ConditionFailed:
            return None
        return from_row(row)

    def put_off(self, task: Task, wait_s: float) -> Task:
        """Leaves the provider alone for as long as it asks for, two minutes at the most."""
        return self._move(
            task,
            "SET #ask_after_ms = :next_ms",
            when=f"{A_WORKERS} AND {THE_SAME_SUBMISSION} AND {NOT_PUT_OFF}",
            next_ms=self.tasks.now_ms() + int(min(wait_s, LONGEST_PAUSE_S) * 1000),
        )

    def submitted(self, task: Task, prediction_id: str) -> Task:
        """Notes by which id the provider knows the work. Returns the task as it is, maybe with another id, or ended."""
        now_ms = self.tasks.now_ms()
        return self._move(
            task,
            "SET #prediction_id = :prediction_id, #submitted_at_ms = :now_ms, #ask_after_ms = :now_ms, "
            "#attempt = #attempt + :one",
            when=f"{A_WORKERS} AND {THE_SAME_SUBMISSION} AND {NOT_TAKEN_YET}",
            prediction_id=prediction_id,
            now_ms=now_ms,
            one=1,
        )

    def begun(self, task: Task) -> Task:
        """Notes that the provider has begun; from now on it has the time to finish."""
        now_ms = self.tasks.now_ms()
        return self._move(
            task,
            "SET #status = :processing, #started_at_ms = :now_ms, #deadline_ms = :deadline_ms",
            when=f"{NOT_BEGUN} AND {THE_SAME_SUBMISSION}",
            now_ms=now_ms,
            deadline_ms=now_ms + self.finish_s * 1000,
        )

    def late(self, task: Task) -> Task:
        """Notes that the provider has finished what was paid back; nothing else comes of it."""
        return self._move(
            task,
            "SET #late_success_at_ms = :now_ms REMOVE #due, #due_at",
            when=f"{PAID_BACK} AND {THE_SAME_SUBMISSION}",
            now_ms=self.tasks.now_ms(),
        )

    def let_go(self, task: Task) -> Task:
        """Notes that there is nothing to look for at the provider any more."""
        return self._move(task, "REMOVE #due, #due_at", when=f"{PAID_BACK} AND {THE_SAME_SUBMISSION}")

    def _slot(self, task_id: str, change: str, *, when: str, **values: object) -> Task:
        now_ms = self.tasks.now_ms()
        row = self.tasks.table.update(
            {"task_id": task_id},
            change,
            when=when,
            values={**_STATES, "now_ms": now_ms, "next_ms": now_ms + ASK_EVERY_MS, **values},
        )
        return from_row(row)

    def _move(self, task: Task, change: str, *, when: str, **values: object) -> Task:
        values = {**_STATES, "nonce": task.nonce, **values}
        try:
            return from_row(self.tasks.table.update({"task_id": task.task_id}, change, when=when, values=values))
        except ConditionFailed as refusal:
            return from_row(refusal.found) if refusal.found is not None else task


_STATES = {str(status): str(status) for status in Status}


def _there(refusal: TransactionRefused, *, new: Task) -> Task:
    """The task that has the id; where there is none, it was the credits that refused."""
    task, _, account = refusal.refusals
    if task is not None and task.found is not None:
        there = from_row(task.found)
        if there.fingerprint != new.fingerprint:
            raise IdempotencyMismatch
        return there
    raise InsufficientCredits(balance=balance_of(account.found if account is not None else None))
