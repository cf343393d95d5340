"""What becomes of a document that got no vector: each outcome has one end, and none of them is a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from embeddings.embedders import TextRejected
from isolane.documents import Document
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelNotAsked, ModelRefused, ReplyUnreadable
from isolane.task import Problem

EXHAUSTED = "attempts_exhausted"


@dataclass(frozen=True, kw_only=True)
class Deferred:
    """It could not be tried: again later, with all its attempts. None: after a while that grows with its age."""

    after_s: float | None


@dataclass(frozen=True, kw_only=True)
class TriedAgain:
    """It did not work this time: again, as its next attempt."""

    after_s: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """It cannot work, and that is an answer: nothing is wrong with us."""

    problem: Problem


@dataclass(frozen=True, kw_only=True)
class GivenUp:
    """It cannot work, and somebody should look at why: dead-lettered."""

    reason: str


Fate: TypeAlias = Deferred | TriedAgain | Failed | GivenUp


def fate(document: Document, error: ModelError, *, max_attempts: int) -> Fate:
    match error:
        case ModelNotAsked(retry_after_s=after_s):
            return Deferred(after_s=after_s)
        case ModelBusy() | ReplyUnreadable() if document.attempt >= max_attempts:
            return GivenUp(reason=EXHAUSTED)
        case ModelBusy(retry_after_s=after_s) | ReplyUnreadable(retry_after_s=after_s):
            return TriedAgain(after_s=after_s or 0.0)
        case InputTooLong() | ModelRefused() | TextRejected():
            return Failed(problem=Problem(code=error.code, message=error.message))
        case _:
            return GivenUp(reason=error.code)
