"""A model that is asked no oftener than its provider allows, whoever asks it."""

from __future__ import annotations

from dataclasses import dataclass

from isolane.deadline import Deadline
from isolane.model_rate import may_ask
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
        """What the model says. Raises ModelNotAsked."""
        may_ask(self.name, rate=self.rate)()
        return self.model.ask(prompt, deadline=deadline)
