"""What a worker does around its work: claim the task of a message, and say what becomes of both.

Claim before work, and results only under the claim that is still current. An attempt is counted when a claim succeeds;
SQS's receive count is never read. A task that has had its attempts is dead-lettered first and failed after that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from isolane import backoff
from isolane.consumer import Message
from isolane.deadline import Deadline
from isolane.errors import InvalidRequest, IsolaneError
from isolane.observability import about, logger
from isolane.task import Busy, Claim, Claimed, Exhausted, Finished, NoRow, Overdue, Problem, Status, Task, is_task_id
from isolane.tasks import Tasks

LOOK_AGAIN_S = 0.1
NOT_WRITTEN_YET_S = 1
NEVER_WRITTEN_S = 60
"""A message that is older and has no row belongs to nobody: whoever submitted it was never told its id."""
EXHAUSTED = Problem(code="attempts_exhausted", message="Every attempt failed, and the task was given up.")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a message asks for."""

    task_id: str
    nonce: str
    fields: Mapping[str, Any]

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Job:
        """Raises InvalidRequest for a message that no submission of ours has sent."""
        task_id, nonce = body.get("task_id"), body.get("nonce")
        if not (is_task_id(task_id) and isinstance(nonce, str)):
            raise InvalidRequest("A message names its task and its submission.")
        return cls(task_id=task_id, nonce=nonce, fields=body)


@dataclass(frozen=True, kw_only=True)
class Deferral:
    """Not now: whoever would work may not yet. None: after a while that grows with the message's age."""

    after_s: float | None = None


Admitted = TypeVar("Admitted")
Admit = Callable[[Job, Deadline], AbstractContextManager[Admitted | Deferral]]
"""Takes what the work needs, for as long as it lasts, before its task is claimed; or says when to come again."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A message whose task is mine."""

    message: Message
    job: Job
    task: Task
    deadline: Deadline
    tasks: Tasks
    max_attempts: int
    keep: Callable[[Job], None]

    def tell_progress(self, progress: Any) -> bool:
        """Lets those who poll see how far it is. Says whether the task is still mine."""
        return self.tasks.tell_progress(self.task, progress)

    def complete(self, result: Any, *, model: str | None = None, cached: bool = False) -> Task:
        """It worked; `cached` where nobody had to do anything for it."""
        return self._ended(self.tasks.complete(self.task, result=result, model=model, cached=cached))

    def review(self, reason: Problem, *, provisional: Any | None = None) -> Task:
        """A human has to look at it, and at its text: kept first, as the message goes."""
        self.keep(self.job)
        return self._ended(self.tasks.review(self.task, reason=reason, provisional=provisional))

    def fail(self, problem: Problem) -> Task:
        """It cannot work, and that is an answer: nothing is wrong with us."""
        return self._ended(self.tasks.fail(self.task, problem))

    def give_up(self, problem: Problem) -> Task:
        """It cannot work, and somebody should look at why: dead-lettered first, failed after that."""
        self.message.dead_letter(problem.code)
        return self.tasks.fail(self.task, problem)

    def retry(self, *, after_s: float = 0.0) -> Task:
        """It did not work this time: again after a growing wait, or given up after the last attempt."""
        if self.task.attempt >= self.max_attempts:
            return self.give_up(EXHAUSTED)
        task = self.tasks.give_back(self.task, attempted=True)
        self.message.retry(delay_seconds=max(after_s, backoff.after_attempt(self.task.attempt)))
        return task

    def defer(self, *, after_s: float | None = None) -> Task:
        """It could not be tried: again later, with all its attempts."""
        task = self.tasks.give_back(self.task, attempted=False)
        self.message.retry(delay_seconds=after_s)
        return task

    def _ended(self, task: Task) -> Task:
        """Acknowledges, where the task came to an end, whoever brought it there.

        Where this claim had lapsed and another worker has given the task back since, it is pending again, and the
        message is all that it has.
        """
        if task.terminal or task.status is Status.IN_REVIEW:
            self.message.ack()
        else:
            self.message.retry()
        return task


@dataclass(frozen=True, kw_only=True)
class Deliveries:
    """The way from a message to its claimed task."""

    tasks: Tasks
    max_attempts: int
    margin_s: float = 1.0
    """A claim ends this long before the function does, so that nobody works on after it."""
    sleep: Callable[[float], None] = time.sleep
    keep: Callable[[Job], None] = lambda _: None
    """Puts by what a human has to see of a job, before it is handed over."""

    def handle(
        self,
        message: Message,
        work: Callable[[Delivery, Admitted], Task],
        *,
        admit: Admit[Admitted],
        deadline: Deadline,
    ) -> None:
        """Claims the message's task for `work`, which says how it ended; settles what cannot be worked on."""
        try:
            job = Job.from_body(message.body)
        except InvalidRequest as refusal:
            message.dead_letter(refusal.code)
            return
        mine = deadline.within(max(0.0, deadline.left_s() - self.margin_s))
        with about(task_id=job.task_id), admit(job, mine) as admitted:
            if isinstance(admitted, Deferral):
                logger().info("deferred")
                message.retry(delay_seconds=backoff.not_before(admitted.after_s))
                return
            delivery = self._claimed(message, job, deadline=mine)
            if delivery is not None:
                _attempt(delivery, lambda: work(delivery, admitted))

    def _claimed(self, message: Message, job: Job, *, deadline: Deadline) -> Delivery | None:
        claim = self._claim(job, until=deadline)
        if not isinstance(claim, Claimed):
            self._settle(message, claim)
            return None
        return Delivery(
            message=message,
            job=job,
            task=claim.task,
            deadline=deadline,
            tasks=self.tasks,
            max_attempts=self.max_attempts,
            keep=self.keep,
        )

    def _claim(self, job: Job, *, until: Deadline) -> Claim:
        claim = self._claim_once(job, until=until)
        if isinstance(claim, NoRow):  # the message goes before the row: look again, it may be a moment behind
            self.sleep(LOOK_AGAIN_S)
            claim = self._claim_once(job, until=until)
        return claim

    def _claim_once(self, job: Job, *, until: Deadline) -> Claim:
        until_ms = self.tasks.now_ms() + int(until.left_s() * 1000)
        return self.tasks.claim(job.task_id, nonce=job.nonce, until_ms=until_ms, max_attempts=self.max_attempts)

    def _settle(self, message: Message, claim: Claim) -> None:
        logger().info("not claimed", extra={"claim": type(claim).__name__})
        match claim:
            case NoRow() if message.age_s > NEVER_WRITTEN_S:
                message.ack()
            case NoRow():
                message.retry(delay_seconds=NOT_WRITTEN_YET_S)
            case Busy():
                message.retry()
            case Exhausted(task=task):
                message.dead_letter(EXHAUSTED.code)
                self.tasks.abandon(task, EXHAUSTED)
            case Overdue(task=task):
                self.tasks.time_out(task)
                message.ack()
            case Finished() | Claimed():
                message.ack()


def _attempt(delivery: Delivery, work: Callable[[], Task]) -> None:
    """One attempt; what goes wrong beneath it costs that attempt, and no more."""
    try:
        work()
    except IsolaneError as error:
        logger().warning("the attempt failed", extra={"error": type(error).__name__})
        delivery.retry()


@contextmanager
def nothing_needed(_job: Job, _deadline: Deadline) -> Iterator[None]:
    """For work that needs no admission."""
    yield None
