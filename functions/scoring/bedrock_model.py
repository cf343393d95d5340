"""A model of Bedrock's, asked through Converse."""

from __future__ import annotations

from dataclasses import dataclass

from isolane.aws.models import Models
from isolane.deadline import Deadline
from isolane.model_errors import InputTooLong, ModelRefused
from scoring.prompt import Prompt

MAX_TOKENS = 2_048
"""More than a verdict needs; Bedrock counts it against the account's quota before the model has said a word."""

_REFUSED = {"guardrail_intervened", "content_filtered"}


@dataclass(frozen=True, kw_only=True)
class BedrockModel:
    """One model, by its id, its inference profile's id, or an ARN."""

    models: Models
    model: str
    timeout_s: float

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        """What the model says, "" where that is nothing. Raises an OutgoingError, mostly a ModelError."""
        said = self.models.converse(
            self.model,
            system=prompt.system,
            user=prompt.user,
            max_tokens=MAX_TOKENS,
            deadline=deadline,
            timeout_s=self.timeout_s,
        )
        if said.stop_reason in _REFUSED:
            raise ModelRefused
        if said.stop_reason == "model_context_window_exceeded":
            raise InputTooLong
        return said.text
