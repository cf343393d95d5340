"""The events that ship with the project, each with the answer that it must get: one set for unit tests and sam local.

`events/<function>.<case>.json` is what AWS sends, `events/expected/<function>.<case>.json` what the function answers.
There, `"*"` stands for any value, a body of JSON is written as JSON, and of the headers only those are
compared that are named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.environment.places import ROOT

FOLDER = ROOT / "events"
ANY = "*"
_ABSENT = "(absent)"


@dataclass(frozen=True)
class Case:
    """One event, by its name: `scoring-api.submit`."""

    name: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    @property
    def function(self) -> str:
        """The function's part of the name: `scoring-api`."""
        return self.name.partition(".")[0]

    @property
    def logical_name(self) -> str:
        """The function's name in the template: `ScoringApi`."""
        return "".join(word.capitalize() for word in self.function.split("-"))

    @cached_property
    def event(self) -> Any:
        return json.loads(self.path.read_text())

    @cached_property
    def expected(self) -> Any:
        return json.loads((FOLDER / "expected" / f"{self.name}.json").read_text())

    def differences(self, answer: Any) -> list[str]:
        """Where an answer is not the expected one, a line for each place; empty where it is."""
        return list(_differences(self.expected, _comparable(answer, expected=self.expected), place="answer"))


def cases(function: str | None = None) -> list[Case]:
    """All events, or those of one function."""
    found = [Case(path.stem) for path in sorted(FOLDER.glob("*.json"))]
    return [case for case in found if function in {None, case.function}]


def _comparable(answer: Any, *, expected: Any) -> Any:
    """An API's answer with its JSON parsed, and of its headers those that are expected; any other answer as it is."""
    if not isinstance(answer, dict) or "body" not in answer:
        return answer
    headers = answer["headers"]
    is_json = headers.get("Content-Type", "").startswith("application/json")
    return {
        **answer,
        "headers": {name: value for name, value in headers.items() if name in expected["headers"]},
        "body": json.loads(answer["body"]) if is_json else answer["body"],
    }


def _differences(expected: Any, seen: Any, *, place: str) -> Iterator[str]:
    if expected == ANY:
        return
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in sorted(expected.keys() | seen.keys()):
            yield from _differences(expected.get(key, _ABSENT), seen.get(key, _ABSENT), place=f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for position, (wanted, found) in enumerate(zip(expected, seen, strict=True)):
            yield from _differences(wanted, found, place=f"{place}[{position}]")
    elif type(expected) is not type(seen) or expected != seen:
        yield f"{place} is {seen!r}, not {expected!r}"
