"""Which handler answers a method on a path; and whether it is the path that nobody knows, or only the method.

Not Powertools' event handler: importing it costs more than a third of a cold start, which is measured by `make bench`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from isolane.errors import MethodNotAllowed, NotFound

Target = TypeVar("Target")

_VARIABLE = re.compile(r"<(\w+)>")
_SEGMENT = r"(?P<\1>[^/]+)"


@dataclass(frozen=True)
class _Rule(Generic[Target]):
    pattern: re.Pattern[str]
    by_method: dict[str, Target] = field(default_factory=dict)


class Routes(Generic[Target]):
    """Rules such as `/tasks/<task_id>`, each with what answers its methods. A variable is one segment of the path."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule[Target]] = {}

    def add(self, method: str, rule: str, target: Target) -> None:
        if rule not in self._rules:
            self._rules[rule] = _Rule(re.compile(_VARIABLE.sub(_SEGMENT, rule)))
        self._rules[rule].by_method[method] = target

    @property
    def known(self) -> frozenset[tuple[str, str]]:
        """Each method with its rule."""
        return frozenset((method, rule) for rule, found in self._rules.items() for method in found.by_method)

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that the path answers to. Raises NotFound."""
        return tuple(sorted(self._found(path)[0].by_method))

    def match(self, method: str, path: str) -> tuple[Target, Mapping[str, str]]:
        """What answers, and the path's variables. Raises NotFound or MethodNotAllowed."""
        rule, variables = self._found(path)
        if method not in rule.by_method:
            raise MethodNotAllowed(allowed=tuple(sorted(rule.by_method)))
        return rule.by_method[method], variables

    def _found(self, path: str) -> tuple[_Rule[Target], Mapping[str, str]]:
        """The rule of the path; one without variables comes before one with them."""
        exact = self._rules.get(path)
        if exact is not None and not _VARIABLE.search(path):  # a path may be spelled like a rule with variables
            return exact, {}
        for rule in self._rules.values():
            if found := rule.pattern.fullmatch(path):
                return rule, found.groupdict()
        raise NotFound
