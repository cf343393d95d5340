"""The provider of pictures in the lab: what it has made, and was asked, outlives the processes that ask it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from images.provider import Job, Made, NotMade
from isolane.errors import OutgoingError
from isolane.task import Problem
from tests.doubles.scripted_provider import MADE, Stage

STOPPED = NotMade(problem=Problem(code="generation_failed", message="It was stopped."))


@dataclass(kw_only=True)
class PictureServer:
    """Each prediction goes through the stages, one for each question about it; the last one stays."""

    stages: Sequence[Stage] = (MADE,)
    submits: Sequence[OutgoingError | None] = (None,)
    """What each submit meets before it counts; the last one stays."""
    heeds_keys: bool = True
    submitted: list[str] = field(default_factory=list)
    """The keys of the jobs that were handed in, each time that one was."""
    predictions: dict[str, list[str]] = field(default_factory=dict)
    """The predictions of each key."""
    asked: Counter[str] = field(default_factory=Counter)
    """How often each prediction was asked about."""
    waited_for: Counter[str] = field(default_factory=Counter)
    """How often each key's job was handed in or asked about while its task was not over."""
    finished: set[str] = field(default_factory=set)
    """The predictions of which somebody was told that there is a picture."""
    over: set[str] = field(default_factory=set)
    """The predictions that were told, or seen, to be over."""

    def submit(self, job: Job) -> str:
        met = self.submits[min(len(self.submitted), len(self.submits) - 1)]
        self.submitted.append(job.key)
        if met is not None:
            raise met
        made = self.predictions.setdefault(job.key, [])
        if not made or not self.heeds_keys:
            made.append(f"prediction-{len(made) + 1}-{job.key}")
        return made[-1]

    def ask(self, prediction_id: str) -> Stage:
        stage = self.stages[min(self.asked[prediction_id], len(self.stages) - 1)]
        self.asked[prediction_id] += 1
        if prediction_id in self.over and not isinstance(stage, Made):
            return STOPPED
        if isinstance(stage, Made):
            self.finished.add(prediction_id)
        if stage is None or isinstance(stage, Made | NotMade):
            self.over.add(prediction_id)
        return stage

    def cancel(self, prediction_id: str) -> None:
        self.over.add(prediction_id)
