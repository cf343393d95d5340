"""What an emulator lacks is made up for here, on the template that `sam build` wrote; nothing else knows of it.

Pure functions: a parsed template goes in, another one comes out. Only `main` reads and writes files.
"""

import copy
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.environment.console import Problem

Template = dict[str, Any]

VERBS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
FUNCTION = "AWS::Serverless::Function"
LAYER = "AWS::Serverless::LayerVersion"
BUNDLE = "bundle"
SAM_LOCAL_TIMEOUT_S = 120


def verbs_written_out(template: Template) -> Template:
    """Each route of any method as one route a verb: MiniStack leaves `ANY` out of an API."""
    adapted = copy.deepcopy(template)
    for function in _functions(adapted):
        events = function.get("Events", {})
        function["Events"] = {name: event for old in events.items() for name, event in _written_out(*old)}
    return adapted


def _written_out(name: str, event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """An event as it is, or seven for one if it is a route of any method."""
    if event["Type"] != "Api" or event["Properties"]["Method"].upper() != "ANY":
        yield name, event
        return
    for verb in VERBS:
        yield f"{name}{verb.capitalize()}", {**event, "Properties": {**event["Properties"], "Method": verb}}


def numbers_filled_in(template: Template, *, parameters: Mapping[str, str]) -> Template:
    """Each reference to a number parameter as that number: MiniStack hands on text, and then fails to compare it."""
    declared = template.get("Parameters", {})
    numbers = {
        name: _number(name, str(parameters.get(name, declaration.get("Default", 0))))
        for name, declaration in declared.items()
        if declaration["Type"] == "Number"
    }
    return {**template, "Resources": _filled_in(template["Resources"], numbers=numbers)}


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Problem(f"{name} is a number, and {text!r} is none.") from None


def _filled_in(node: Any, *, numbers: Mapping[str, int]) -> Any:
    """The same tree with numbers for references; variables of the environment are text, and stay references."""
    if isinstance(node, list):
        return [_filled_in(entry, numbers=numbers) for entry in node]
    if not isinstance(node, dict):
        return node
    if set(node) == {"Ref"} and node["Ref"] in numbers:
        return numbers[node["Ref"]]
    return {key: value if key == "Environment" else _filled_in(value, numbers=numbers) for key, value in node.items()}


def batches_allowed(template: Template) -> Template:
    """Who may send a message may send ten: on AWS one right is for both, MiniStack asks for a second."""
    adapted = copy.deepcopy(template)
    for statement in _statements(adapted["Resources"]):
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        if "sqs:SendMessage" in actions:
            statement["Action"] = [*actions, "sqs:SendMessageBatch"]
    return adapted


def _statements(node: Any) -> Iterator[dict[str, Any]]:
    """Whatever allows something."""
    if isinstance(node, dict) and {"Effect", "Action"} <= set(node):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _statements(inner)


def layer_inside(template: Template, *, bundle: str) -> Template:
    """Every function from one bundle that holds the layer's content too: LocalStack does not mount layers."""
    adapted = copy.deepcopy(template)
    for function in (*_functions(adapted), adapted.get("Globals", {}).get("Function", {})):
        function.pop("Layers", None)
        if "CodeUri" in function:
            function["CodeUri"] = bundle
    resources = adapted["Resources"]
    adapted["Resources"] = {name: resource for name, resource in resources.items() if resource["Type"] != LAYER}
    return adapted


def usual_log_groups(template: Template) -> Template:
    """No log group of one's own for a function: LocalStack writes to the usual one, whatever the function says."""
    adapted = copy.deepcopy(template)
    for function in _functions(adapted):
        function.pop("LoggingConfig", None)
    return adapted


def nothing_retained(template: Template) -> Template:
    """What AWS must keep when a stack goes, goes with it: a local stack that is made again leaves nothing behind."""
    adapted = copy.deepcopy(template)
    for resource in adapted["Resources"].values():
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if policy in resource:
                resource[policy] = "Delete"
    return adapted


def _functions(template: Template) -> list[dict[str, Any]]:
    """The properties of each function."""
    return [resource["Properties"] for resource in template["Resources"].values() if resource["Type"] == FUNCTION]


def for_ministack(template: Template, *, parameters: Mapping[str, str]) -> Template:
    """The template for MiniStack."""
    adapted = batches_allowed(verbs_written_out(template))
    return nothing_retained(numbers_filled_in(adapted, parameters=parameters))


def for_localstack(template: Template, *, parameters: Mapping[str, str]) -> Template:
    """The template for LocalStack; the bundle that it names is made by `make_bundle`."""
    return nothing_retained(usual_log_groups(layer_inside(template, bundle=BUNDLE)))


def more_time(template: Template, *, timeout_s: int) -> Template:
    """Each function with this time limit: sam local counts the start of a container in, and a machine may be busy."""
    adapted = copy.deepcopy(template)
    for function in (*_functions(adapted), adapted.get("Globals", {}).get("Function", {})):
        if "Timeout" in function:
            function["Timeout"] = timeout_s
    return adapted


def for_sam_local(template: Template, *, parameters: Mapping[str, str]) -> Template:
    """The template for sam local, which does all else as AWS does."""
    return more_time(template, timeout_s=SAM_LOCAL_TIMEOUT_S)


TARGETS: dict[str, Callable[..., Template]] = {
    "ministack": for_ministack,
    "localstack": for_localstack,
    "sam-local": for_sam_local,
}


def adapt(built: Path, *, target: str, parameters: Mapping[str, str], name: str | None = None) -> Path:
    """Write the template for one emulator, under its name or another, beside the one that `sam build` wrote."""
    template = yaml.safe_load((built / "template.yaml").read_text())
    adapted = built / f"{name or target}.yaml"
    adapted.write_text(yaml.safe_dump(TARGETS[target](template, parameters=parameters), sort_keys=False))
    if target == "localstack":
        make_bundle(built)
    return adapted


def make_bundle(built: Path) -> None:
    """The layer's content and the functions in one folder, beside the built template."""
    bundle = built / BUNDLE
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(built / "IsolaneLayer" / "python", bundle)
    functions = built.parents[1] / "functions"
    shutil.copytree(functions, bundle, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def architecture(machine: str = platform.machine()) -> str:
    """This machine's processor, in Lambda's words."""
    return "arm64" if machine.lower() in {"arm64", "aarch64"} else "x86_64"
