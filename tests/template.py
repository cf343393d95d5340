"""template.yaml and samconfig.toml as values that tests can ask questions of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.environment.places import ROOT

Resource = dict[str, Any]
FUNCTION = "AWS::Serverless::Function"


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms, read as their long ones."""


def _long_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        raise TypeError(f"!{suffix} is used in a way that this reader does not know")
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _long_form)

TEMPLATE: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), Loader=_Loader)  # noqa: S506 - a SafeLoader
RESOURCES: dict[str, Resource] = TEMPLATE["Resources"]
PARAMETERS: dict[str, dict[str, Any]] = TEMPLATE["Parameters"]
SAMCONFIG: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text())
PLACES = sorted(name for name, section in SAMCONFIG.items() if isinstance(section, dict) and "deploy" in section)
"""Where the application is deployed to: default (AWS) and the local ones."""


def of_type(kind: str) -> dict[str, Resource]:
    """The resources of one type, by name."""
    return {name: resource for name, resource in RESOURCES.items() if resource["Type"] == kind}


def property_of(function: str, name: str) -> Any:
    """A function's property, its own or the one that all have."""
    own = RESOURCES[function]["Properties"]
    return own.get(name, TEMPLATE["Globals"]["Function"].get(name))


def variables_of(function: str) -> dict[str, Any]:
    """A function's environment, as declared: for all functions and for it alone."""
    everybody: dict[str, Any] = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
    own: dict[str, Any] = RESOURCES[function]["Properties"].get("Environment", {}).get("Variables", {})
    return everybody | own


def events(function: str, *, kind: str) -> list[dict[str, Any]]:
    """The properties of a function's events of one type."""
    found = RESOURCES[function]["Properties"].get("Events", {}).values()
    return [event["Properties"] for event in found if event["Type"] == kind]


def statements(function: str) -> list[dict[str, Any]]:
    """What the function's role allows, those under a condition included."""
    role = RESOURCES[property_of(function, "Role")["Fn::GetAtt"][0]]
    policies = role["Properties"]["Policies"]
    every = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    return [each["Fn::If"][1] if "Fn::If" in each else each for each in every]


def as_list(value: Any) -> list[Any]:
    """One value or several, as several."""
    return value if isinstance(value, list) else [value]


def target(reference: Mapping[str, Any]) -> str:
    """The resource that a Ref or GetAtt names."""
    return str(reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0])


def overrides(place: str) -> dict[str, str]:
    """The parameters that samconfig.toml sets for a place."""
    entries = SAMCONFIG[place]["deploy"]["parameters"]["parameter_overrides"]
    return dict(entry.split("=", 1) for entry in entries)


def number(value: Any, *, place: str) -> int:
    """A number, written out or by parameter, as it is in a place."""
    if isinstance(value, Mapping):
        name = value["Ref"]
        value = overrides(place).get(name, PARAMETERS[name]["Default"])
    return int(value)


def referred(node: Any) -> set[str]:
    """The names of parameters and resources that a part of the template refers to."""
    refs = {value for key, value in walk(node) if key == "Ref" and not value.startswith("AWS::")}
    attributes = {value[0] for key, value in walk(node) if key == "Fn::GetAtt"}
    inside = {name for key, value in walk(node) if key == "Fn::Sub" for name in re.findall(r"\$\{(\w+)[.}]", value)}
    return refs | attributes | inside


def walk(node: Any) -> Iterator[tuple[str, Any]]:
    """Each key and its value, at every depth."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield key, value
            yield from walk(value)
    elif isinstance(node, list):
        for entry in node:
            yield from walk(entry)
