"""A provider of pictures that is spoken to no oftener than it allows, whoever polls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from images.provider import Job, Prediction, Provider
from isolane.deadline import Deadline


@dataclass(frozen=True, kw_only=True)
class RatedProvider:
    """Each submit and each question takes one of the rate; where none is left, nothing is sent."""

    provider: Provider
    may_ask: Callable[[], None]
    """Raises ModelNotAsked where nothing may be sent now."""

    def submit(self, job: Job, *, deadline: Deadline) -> str:
        self.may_ask()
        return self.provider.submit(job, deadline=deadline)

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:
        self.may_ask()
        return self.provider.ask(prediction_id, job, deadline=deadline)

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:
        self.may_ask()
        self.provider.cancel(prediction_id, deadline=deadline)
