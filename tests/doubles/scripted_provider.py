"""A provider of pictures without a network: it goes through the stages it was told, and counts what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from images.provider import Job, Made, NoPicture, NotMade, Prediction, Waiting, Working
from isolane.deadline import Deadline
from isolane.errors import OutgoingError
from isolane.task import Problem
from tests.pictures import png

PICTURE = png(2, 2)


def made(data: bytes | OutgoingError = PICTURE) -> Made:
    """The stage at which there is a picture, or something that is handed out as one."""

    def collect(_: Deadline) -> bytes:
        if isinstance(data, OutgoingError):
            raise data
        return data

    return Made(collect=collect)


REFUSED = Problem(code="refused", message="The provider does not make this picture.")
FAILED = Problem(code="generation_failed", message="The provider could not make the picture.")
WAITING, WORKING, MADE, NOT_MADE = Waiting(), Working(), made(), NotMade(problem=FAILED)
UNKNOWN = None

Stage = Prediction | OutgoingError | None


@dataclass
class ScriptedProvider:
    """Each question meets the next stage; the last one stays. One key has one prediction, while keys are heeded."""

    stages: Sequence[Stage] = (MADE,)
    submits: Sequence[OutgoingError | None] = (None,)
    """What each submit meets before it counts; the last one stays."""
    heeds_keys: bool = True
    submitted: list[Job] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)
    predictions: dict[str, list[str]] = field(default_factory=dict)
    """The predictions of each key."""
    _lock: Any = field(default_factory=Lock)

    def submit(self, job: Job, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        with self._lock:
            met = self.submits[min(len(self.submitted), len(self.submits) - 1)]
            self.submitted.append(job)
            if met is not None:
                raise met
            made = self.predictions.setdefault(job.key, [])
            if not made or not self.heeds_keys:
                made.append(f"prediction-{len(made) + 1}-{job.key}")
            return made[-1]

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:  # noqa: ARG002 - the same
        with self._lock:
            assert prediction_id in self.predictions[job.key]
            stage = self.stages[min(len(self.asked), len(self.stages) - 1)]
            self.asked.append(prediction_id)
        if isinstance(stage, OutgoingError):
            raise stage
        return stage

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:  # noqa: ARG002 - the same
        self.canceled.append(prediction_id)


def refusing(problem: Problem = REFUSED) -> ScriptedProvider:
    """One that will not have the prompt."""
    return ScriptedProvider(submits=(NoPicture(problem),))
