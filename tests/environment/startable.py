"""Refuses parameters with which the functions would not start, before they are deployed: by their own checks."""

from collections.abc import Mapping
from typing import Any

from embeddings import embedders
from images import providers
from isolane.errors import ConfigurationError
from isolane.settings import Settings
from scoring import limits
from scoring.chain import parse_chain
from tests.environment.console import Problem
from tests.template import PARAMETERS, TEMPLATE

DECLARED: dict[str, Any] = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]


def check(chosen: Mapping[str, str]) -> None:
    """Raises Problem, with the sentence that the functions would log."""
    try:
        settings = Settings.from_env(variables(chosen))
        limits.check(settings)
        parse_chain(settings.scorer_chain)
        embedders.check(settings)
        providers.check(settings)
    except ConfigurationError as refusal:
        raise Problem(f"With these parameters no function would start. {refusal.message}") from refusal


def variables(chosen: Mapping[str, str]) -> dict[str, str]:
    """What the functions would find in their environment; a resource has a name of some kind."""
    return {name: _value(declared, chosen) for name, declared in DECLARED.items()}


def _value(declared: Any, chosen: Mapping[str, str]) -> str:
    if not isinstance(declared, Mapping):
        return str(declared)
    name = declared["Ref"]
    return chosen.get(name, str(PARAMETERS[name].get("Default", ""))) if name in PARAMETERS else name
