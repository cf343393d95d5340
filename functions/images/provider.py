"""What makes pictures, as it is seen from here: it takes a prompt, gives an id, and is asked how far it has come.

No call waits for a picture: whoever polls asks, and asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from isolane.deadline import Deadline
from isolane.errors import OutgoingError
from isolane.task import Problem


@dataclass(frozen=True, kw_only=True)
class Job:
    """One picture that somebody has paid for."""

    key: str
    """The same at each try, so that a provider that heeds it makes one picture: 1 to 64 letters, digits and hyphens."""
    prompt: str


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The provider has it, and has not begun."""


@dataclass(frozen=True, kw_only=True)
class Working:
    """The provider is at it."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """There is a picture."""

    collect: Callable[[Deadline], bytes]
    """Fetches it, unchecked. Raises NoPicture where none is to be had, and a retryable error where one may be."""


@dataclass(frozen=True, kw_only=True)
class NotMade:
    """There will be none, for this reason."""

    problem: Problem


Prediction = Waiting | Working | Made | NotMade


class NoPicture(OutgoingError):
    """There is no picture to be had."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.code = problem.code
        self.problem = problem


class Provider(Protocol):
    """Anything that makes pictures by and by. Each method is one call at the most, within the deadline.

    Where the provider cannot say for now, methods raise a retryable error (TimedOut, Unreachable, ModelBusy), and
    ModelRejected where somebody has to act first: the key, the allowance, the model's name.
    """

    def submit(self, job: Job, *, deadline: Deadline) -> str:
        """Hands the job over; returns the prediction's id. Raises NoPicture where the prompt is refused for good."""

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:
        """How far it is; None where the provider knows no such prediction."""

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:
        """Lets the provider stop, where it can; what is finished stays finished."""
