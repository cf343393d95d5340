"""A model that is asked no oftener than its provider allows, whoever asks it."""

from __future__ import annotations

from dataclasses import dataclass

from isolane.deadline import Deadline
from isolane.errors import Contended, Unavailable
from isolane.model_errors import ModelNotAsked
from isolane.rate_limit import RateLimit
from scoring.prompt import Prompt
from scoring.scorers import Model


@dataclass(frozen=True, kw_only=True)
class RatedModel:
    """Each request takes one of the rate, a repair's and a part's, too; where none is left, nothing is sent."""

    name: str
    model: Model
    rate: RateLimit

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        """What the model says. Raises ModelNotAsked, also where nobody can say how much of the rate is left."""
        try:
            taken = self.rate.take(f"model#{self.name}")
        except (Unavailable, Contended) as error:
            raise ModelNotAsked from error
        if not taken.allowed:
            raise ModelNotAsked(retry_after_s=taken.retry_after_s)
        return self.model.ask(prompt, deadline=deadline)
