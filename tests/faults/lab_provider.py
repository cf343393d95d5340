"""How a process in the lab reaches the provider of pictures: each call can be held up and struck."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from images.provider import Job, Made, Prediction
from isolane.deadline import Deadline
from isolane.errors import OutgoingError, TimedOut, Unreachable
from isolane.model_errors import ModelBusy
from tests.doubles.scripted_provider import MADE, Stage
from tests.faults import faults
from tests.faults.failing_client import Process
from tests.faults.picture_server import PictureServer
from tests.faults.right_answers import picture_of

if TYPE_CHECKING:
    from tests.faults.lab import Lab

T = TypeVar("T")


class LabProvider:
    """The way of one process to the case's provider, whose pictures show what their jobs ask for."""

    def __init__(self, lab: "Lab") -> None:
        self._lab = lab
        self.process: Process | None = None
        """Whose calls these are, where somebody watches."""

    def submit(self, job: Job, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        return self._call("Submit", job.key, lambda: self._submit(job))

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:  # noqa: ARG002 - the same
        stage = self._call("Ask", job.key, lambda: self._ask(prediction_id, job))
        if isinstance(stage, OutgoingError):
            raise stage
        return self._to_be_fetched(stage, job) if isinstance(stage, Made) else stage

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:  # noqa: ARG002 - the same
        key = prediction_id.rsplit("-", 1)[-1]
        self._call("Cancel", key, lambda: self._server.cancel(prediction_id))

    @property
    def _server(self) -> PictureServer:
        return self._lab.case.provider

    def _submit(self, job: Job) -> str:
        self._note(job)
        return self._server.submit(job)

    def _ask(self, prediction_id: str, job: Job) -> Stage:
        self._note(job)
        return self._server.ask(prediction_id)

    def _to_be_fetched(self, made: Made, job: Job) -> Made:
        def collect(deadline: Deadline) -> bytes:
            return picture_of(job.prompt) if made is MADE else made.collect(deadline)

        return Made(collect=lambda deadline: self._call("Fetch", job.key, lambda: collect(deadline)))

    def _note(self, job: Job) -> None:
        """Counts who wants to know, as long as it is of use to anybody."""
        self._lab.observe()
        rows = self._lab.case.rows("TasksTable").values()
        if any(row["nonce"] == job.key and "finished_at_ms" not in row for row in rows):
            self._server.waited_for[job.key] += 1

    def _call(self, operation: str, key: str, effect: Callable[[], T]) -> T:
        if self.process is None:
            return effect()
        return self.process.outside("provider", operation, {"Key": key}, lambda fault: _befallen(fault, effect))


def _befallen(fault: faults.Fault | None, effect: Callable[[], T]) -> T:
    """What a client of the provider makes of a fault; it does not try again by itself."""
    if isinstance(fault, faults.LoseAnswer):
        effect()
        raise TimedOut
    if isinstance(fault, faults.Refuse):
        raise ModelBusy
    if isinstance(fault, faults.Unreachable):
        raise Unreachable
    return effect()
