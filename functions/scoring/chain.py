"""Scorers in order: who is in the chain, and the first of them that answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolane.deadline import Deadline
from isolane.errors import ConfigurationError
from isolane.model_errors import ModelBusy, ModelError
from scoring.bedrock_model import BedrockModel
from scoring.openai_model import OpenAiModel
from scoring.score import Score
from scoring.scorers import BuiltinScorer, Model, ModelScorer, Scorer

if TYPE_CHECKING:
    from isolane.aws.models import Models
    from isolane.rate_limit import RateLimit
    from isolane.settings import Settings

_ENTRY = re.compile(r"builtin|(openai|bedrock):[^,\s]+")


@dataclass(frozen=True, kw_only=True)
class ScorerSpec:
    """One entry of a chain."""

    kind: str
    """builtin, openai or bedrock."""
    model: str = ""
    """The model's name at its provider, which may have colons in it; "" for builtin."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.model}" if self.model else self.kind


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A text's score, who gave it, and what that took."""

    score: Score
    model: str
    """Its name; of several, with commas between."""
    fallback: bool
    """Whether somebody was asked before, or as well, who did not answer."""
    requests: int
    """Requests to models in all, those of the ones that failed included."""

    def as_result(self) -> dict[str, Any]:
        """The result of a task."""
        return {
            "score": self.score.score,
            "dimensions": dict(self.score.dimensions),
            "comments": list(self.score.comments),
            "model": self.model,
            "truncated": False,
        }


def parse_chain(chain: str) -> tuple[ScorerSpec, ...]:
    """The scorers in a setting, in order: `bedrock:model-a,openai:model-b,builtin`. Raises ConfigurationError."""
    specs = tuple(_spec(entry.strip()) for entry in chain.split(","))
    if len(set(specs)) != len(specs):
        raise ConfigurationError("A chain of scorers names each scorer once.")
    return specs


def build(
    specs: Iterable[ScorerSpec],
    *,
    settings: Settings,
    secret: Callable[[str], str],
    models: Callable[[], Models],
    rate: RateLimit | None = None,
) -> tuple[Scorer, ...]:
    """The scorers themselves. `secret` reads an SSM parameter, `models` makes Bedrock's client: where one is needed.

    `rate` limits the requests to each model, where they are limited.
    """
    makers: dict[str, Callable[[str], Model]] = {
        "openai": lambda model: _openai(model, settings=settings, secret=secret),
        "bedrock": lambda model: BedrockModel(models=models(), model=model, timeout_s=settings.model_timeout_s),
    }
    return tuple(
        ModelScorer(str(spec), _rated(makers[spec.kind](spec.model), name=str(spec), rate=rate))
        if spec.model
        else BuiltinScorer()
        for spec in specs
    )


def _rated(model: Model, *, name: str, rate: RateLimit | None) -> Model:
    if rate is None:
        return model
    from scoring.rated import RatedModel  # noqa: PLC0415 - only where a rate is set

    return RatedModel(name=name, model=model, rate=rate)


def score_with_chain(text: str, *, scorers: Sequence[Scorer], deadline: Deadline) -> Scored:
    """The score of the first scorer that answers.

    One that is busy, rejects the request or finds the text too long hands on to the next; a refusal and a reply that
    cannot be read are final. Raises a ModelError, and where any scorer was busy, that of the one to be free first.
    """
    failures: list[ModelError] = []
    for scorer in scorers:
        try:
            score = in_time(scorer, text, deadline=deadline)
        except ModelError as error:
            failures.append(error)
            if not error.another_may_answer:
                raise counted(error, requests=requests_of(failures)) from None
        else:
            requests = score.requests + requests_of(failures)
            return Scored(score=score, model=scorer.name, fallback=bool(failures), requests=requests)
    raise counted(most_hopeful(failures), requests=requests_of(failures))


def in_time(scorer: Scorer, text: str, *, deadline: Deadline) -> Score:
    """The scorer's score, unless the time is over already."""
    if deadline.expired:
        raise ModelBusy("There was no time left to ask another scorer.")
    return scorer.score(text, deadline=deadline)


def most_hopeful(failures: Sequence[ModelError]) -> ModelError:
    """The busy one that is free first, if any is busy; else the first, which is the one that was wanted."""
    busy = [failure for failure in failures if failure.retryable]
    return min(busy or failures, key=_wait_s)


def counted(error: ModelError, *, requests: int) -> ModelError:
    """The error with the requests of all."""
    error.requests = requests
    return error


def requests_of(failures: Sequence[ModelError]) -> int:
    return sum(failure.requests for failure in failures)


def _spec(entry: str) -> ScorerSpec:
    if _ENTRY.fullmatch(entry) is None:
        raise ConfigurationError(
            "A chain of scorers is a list of builtin, openai:MODEL and bedrock:MODEL with commas between."
        )
    kind, _, model = entry.partition(":")
    return ScorerSpec(kind=kind, model=model)


def _openai(model: str, *, settings: Settings, secret: Callable[[str], str]) -> OpenAiModel:
    key = settings.openai_api_key
    if not key and settings.openai_api_key_parameter:
        key = secret(settings.openai_api_key_parameter)
    return OpenAiModel(
        base_url=settings.openai_base_url, model=model, key=key.strip(), timeout_s=settings.model_timeout_s
    )


def _wait_s(failure: ModelError) -> float:
    return failure.retry_after_s if failure.retry_after_s is not None else math.inf
