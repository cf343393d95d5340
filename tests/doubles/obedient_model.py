"""A model that does what the text says: the worst that can be behind a prompt. It is what the guard is there for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from isolane.deadline import Deadline
from scoring.prompt import Prompt
from tests.doubles.scripted_model import verdict

_TEXT = re.compile(r"<<<TEXT \w+>>>\n(.*)\n<<<END \w+>>>", re.DOTALL)
_NUMBER = re.compile(r"\d+")


@dataclass
class ObedientModel:
    """Gives the highest mark that the text names, and full marks where it names none."""

    prompts: list[Prompt] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        self.prompts.append(prompt)
        text = _TEXT.fullmatch(prompt.user)
        named = [int(number) for number in _NUMBER.findall(text[1] if text else "") if len(number) <= 3]
        mark = max((mark for mark in named if mark <= 100), default=100)
        return json.dumps(verdict(mark)).replace("{nonce}", prompt.nonce)
