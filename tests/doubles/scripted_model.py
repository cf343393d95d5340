"""A model without a network: it says what it was told to say, and counts how often it was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from isolane.deadline import Deadline
from isolane.errors import OutgoingError
from scoring.prompt import DIMENSIONS, Prompt

Answer: TypeAlias = str | OutgoingError
"""What it says, `{nonce}` standing for the request's nonce; or how asking it fails."""


def verdict(score: Any = 80, **other: Any) -> dict[str, Any]:
    """A reply of the form that is asked for, or with other fields."""
    dimensions = dict.fromkeys(DIMENSIONS, score)
    return {"nonce": "{nonce}", "score": score, "dimensions": dimensions, "comments": ["Clear."], **other}


@dataclass
class ScriptedModel:
    """Answers in order; the last answer stays."""

    answers: list[Answer] = field(default_factory=lambda: [json.dumps(verdict())])
    prompts: list[Prompt] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        self.prompts.append(prompt)
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, OutgoingError):
            raise answer
        return answer.replace("{nonce}", prompt.nonce)


def saying(*answers: Answer) -> ScriptedModel:
    return ScriptedModel(list(answers))
