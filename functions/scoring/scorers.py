"""Who can score a text: the rubric that needs nothing, and models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from isolane.deadline import Deadline
from isolane.errors import OutgoingError
from isolane.model_errors import (
    ModelBusy,
    ModelError,
    ModelNotAsked,
    ModelOutcome,
    ModelRefused,
    ModelRejected,
    ReplyUnreadable,
)
from scoring import replies, rubric
from scoring.cutting import LONGEST_PART
from scoring.prompt import Form, Prompt, prompt_for
from scoring.score import Score


class Scorer(Protocol):
    """Whoever scores a text. What guards a scorer (a breaker, a permit) is a scorer around it."""

    @property
    def name(self) -> str:
        """The name that goes with its scores."""

    @property
    def longest(self) -> int | None:
        """The longest text, in characters, that it judges at once; None: any."""

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:
        """The text's score. Raises a ModelError, which says what can still help and how many requests were made."""


class Model(Protocol):
    """Something that answers a prompt."""

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        """What it says, in one request. Raises an OutgoingError."""


@dataclass(frozen=True)
class BuiltinScorer:
    """The rubric measured from the text itself. It is not a model, and it always answers.

    It reads a text of any length at once: what it counts (paragraphs, different words, sentences said twice) it counts
    over a whole text, and its marks for parts would be others.
    """

    name: str = rubric.NAME
    longest: int | None = None

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:  # noqa: ARG002 - see above
        """The rubric's score, without a request."""
        found = rubric.score(text)
        return Score(score=found["score"], dimensions=found["dimensions"], comments=tuple(found["comments"]))


@dataclass(frozen=True)
class ModelScorer:
    """A model that is asked for a verdict, and once more where its reply cannot be read: two requests at the most."""

    name: str
    model: Model
    longest: int | None = LONGEST_PART

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:
        """The model's score, validated."""
        for request, repair in enumerate((False, True), start=1):
            reading = self._ask(prompt_for(text, form=form, repair=repair), deadline=deadline, request=request)
            if isinstance(reading, Score):
                return replace(reading, requests=request)
            if reading is ModelOutcome.REFUSED:
                raise ModelRefused(requests=request)
        raise ReplyUnreadable(requests=2)

    def _ask(self, prompt: Prompt, *, deadline: Deadline, request: int) -> Score | replies.Unusable:
        if deadline.expired:
            raise ModelBusy("There was no time left to ask the model.", requests=request - 1)
        try:
            return replies.read(self.model.ask(prompt, deadline=deadline), nonce=prompt.nonce)
        except ModelError as error:
            error.requests = request - 1 if isinstance(error, ModelNotAsked) else request
            raise
        except OutgoingError as error:
            kind = ModelBusy if error.retryable else ModelRejected
            raise kind(f"The model did not answer: {error.message}", requests=request) from error
