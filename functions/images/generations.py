"""A picture from the order to its end: handed over, asked about, fetched, checked and stored, or paid back.

Whoever polls carries a picture on, and so does the sweeper; they do the same, and either may come first, twice, or at
once: what counts is one conditional write. Nobody waits for the provider, or sleeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from images import providers
from images.pictures import checked
from images.provider import Job, Made, NoPicture, NotMade, Prediction, Provider, Waiting, Working
from isolane.deadline import Deadline
from isolane.errors import IsolaneError, OutgoingError, Unavailable
from isolane.model_errors import ModelError
from isolane.observability import count, logger
from isolane.paid_tasks import PaidTasks
from isolane.task import Problem, Status, Task, text_name

if TYPE_CHECKING:
    from isolane.aws.bucket import Bucket
    from isolane.bindings import Bindings

KIND = "image"
DUTY = "images"
"""What a task is due for while its owner is owed a picture or the credits for it."""
PREFIX = "images/"
"""Where pictures lie in the bucket, which forgets them with their tasks."""
_UNSEEN_MS = 15_000
"""How long a provider may not yet know a prediction that it has just taken; some read from copies that lag."""
_LATE_MS = 3_600_000
"""How long after it was given up a picture is asked about."""
_MARGIN_S = 2.0
"""How much longer than the provider's answer it takes to note it."""
_LOST = Problem(code="lost", message="The provider does not know the picture any more.")


@dataclass(frozen=True)
class Generations:
    """Pictures of one provider, on their way."""

    tasks: PaidTasks
    provider: Provider
    model: str
    """Whose pictures they are called."""
    bucket: Callable[[], Bucket]
    """Asked for only where there is a picture to store."""

    def hand_over(self, task: Task, *, deadline: Deadline) -> Task:
        """Submits what has been paid for. Where the provider cannot take it now, the next poll tries again."""
        try:
            prediction_id = self.provider.submit(_job(task), deadline=deadline)
        except NoPicture as refusal:
            return self._give_up(task, refusal.problem)
        except OutgoingError as error:
            return self._for_now(task, error, doing="submit")
        submitted = self.tasks.submitted(task, prediction_id)
        if submitted.prediction_id != prediction_id:  # ended meanwhile, or handed over twice to one who heeds no key
            self._stop(prediction_id, task, deadline=deadline)
        return submitted

    def carry_on(self, task: Task, *, deadline: Deadline) -> Task:
        """Takes the task as far as it goes now, for whoever has the right to ask the provider."""
        if task.prediction_id is None:
            mine = self.tasks.hand_over_again(task)
            return self.hand_over(mine, deadline=deadline) if mine is not None else task
        try:
            prediction = self.provider.ask(task.prediction_id, _job(task), deadline=deadline)
        except OutgoingError as error:
            return self._for_now(task, error, doing="ask")
        return self._follow(task, prediction, deadline=deadline)

    def _follow(self, task: Task, prediction: Prediction | None, *, deadline: Deadline) -> Task:
        match prediction:
            case None:
                return self._unknown(task)
            case NotMade(problem=problem):
                return self._give_up(task, problem)
            case Made():
                return self._deliver(task, prediction, deadline=deadline)
            case Working() if task.status is Status.PENDING:
                return self.tasks.begun(task)
            case Working() | Waiting():
                return task

    def look_again(self, task: Task, *, deadline: Deadline) -> Task:
        """Notes what a provider has made of what was paid back, which nobody gets; stops what it still makes."""
        if task.prediction_id is None or self.tasks.tasks.now_ms() - (task.finished_at_ms or 0) > _LATE_MS:
            return self.tasks.let_go(task)
        prediction = self.provider.ask(task.prediction_id, _job(task), deadline=deadline)
        if isinstance(prediction, Made):
            return self._late(task)
        if isinstance(prediction, Waiting | Working):
            self._stop(task.prediction_id, task, deadline=deadline)
            return task
        return self.tasks.let_go(task)

    def _unknown(self, task: Task) -> Task:
        age_ms = self.tasks.tasks.now_ms() - (task.submitted_at_ms or 0)
        return task if age_ms < _UNSEEN_MS else self._give_up(task, _LOST, left_at_work=True)

    def _deliver(self, task: Task, made: Made, *, deadline: Deadline) -> Task:
        """A picture counts once it lies in our bucket; whatever is no picture counts as none."""
        try:
            picture = checked(made.collect(deadline))
            self.bucket().put(key_of(task), picture.data, content_type=picture.content_type)
        except NoPicture as refusal:
            return self._give_up(task, refusal.problem)
        except (OutgoingError, Unavailable) as error:
            return self._for_now(task, error, doing="fetch")
        result = {"contentType": picture.content_type, "width": picture.width, "height": picture.height}
        delivered = self.tasks.tasks.deliver(task, result=result, model=self.model)
        return delivered if delivered.status is Status.COMPLETED else self._late(task)

    def _late(self, task: Task) -> Task:
        logger().warning("a picture came after its refund", extra={"task_id": task.task_id})
        count("images_late")
        return self.tasks.late(task)

    def _give_up(self, task: Task, problem: Problem, *, left_at_work: bool = False) -> Task:
        logger().info("a picture was not made", extra={"task_id": task.task_id, "reason": problem.code})
        return self.tasks.tasks.abandon(task, problem, left_at_work=left_at_work)

    def _stop(self, prediction_id: str, task: Task, *, deadline: Deadline) -> None:
        try:
            self.provider.cancel(prediction_id, deadline=deadline)
        except OutgoingError as error:  # it costs somebody something, and changes nothing
            _log(task, error, doing="cancel")

    def _for_now(self, task: Task, error: IsolaneError, *, doing: str) -> Task:
        """The task goes on: a later poll tries again, when the provider has said so, and its deadline ends that."""
        _log(task, error, doing=doing)
        wait_s = error.retry_after_s if isinstance(error, ModelError) else None
        return self.tasks.put_off(task, wait_s) if wait_s is not None else task


def key_of(task: Task) -> str:
    """Where a task's picture lies: always there, so that whoever stores it twice stores it once."""
    return PREFIX + text_name(task.task_id, task.nonce)


def _job(task: Task) -> Job:
    return Job(key=task.nonce, prompt=task.prompt or "")


def _log(task: Task, error: IsolaneError, *, doing: str) -> None:
    about = {"task_id": task.task_id, "doing": doing, "error": type(error).__name__}
    logger().warning("the provider of pictures did not help", extra=about)


def build(app: Bindings, *, provider: Provider | None = None) -> Generations:
    """The pictures of this application. Raises ConfigurationError where none could ever be made."""
    settings = app.settings
    tasks = PaidTasks(
        tasks=app.tasks,
        kind=KIND,
        duty=DUTY,
        start_s=settings.image_start_s,
        finish_s=settings.image_finish_s,
        hand_over_s=settings.model_timeout_s + _MARGIN_S,
    )
    return Generations(
        tasks=tasks,
        provider=provider if provider is not None else providers.build(app),
        model=settings.image_provider,
        bucket=lambda: app.bucket,
    )
