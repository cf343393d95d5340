"""The API's own document says what the API answers, and nothing else: routes, tokens, errors, examples."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

import operations.api
from isolane import errors
from isolane.api import Api
from isolane.bindings import Bindings
from isolane.errors import Contended, IsolaneError, Refused, Unavailable
from tests import openapi
from tests.application import Context
from tests.environment.places import ROOT
from tests.openapi import COMPONENTS, DOCUMENT, codes_of, resolved, walk, without_names
from tests.template import FUNCTION, RESOURCES, events, of_type, property_of
from tests.world import settings
from web import document

RESERVED = {"/admin/{proxy+}", "/", "/{proxy+}"}
"""Routes that are there to be answered by 404: what is to come, and all the rest."""
GATEWAYS_STATUSES = {"REQUEST_TOO_LARGE": 413, "THROTTLED": 429, "INTEGRATION_TIMEOUT": 504, "DEFAULT_5XX": 500}


@cache
def handlers() -> dict[str, Api]:
    """The APIs of the template's functions, by the function's logical name; nobody may call without a token."""
    bindings = Bindings(settings(ALLOW_ANONYMOUS="false"), make_client=lambda _: object())
    modules = {
        name: str(property_of(name, "Handler")).removesuffix(".handler")
        for name in of_type(FUNCTION)
        if routes_of(name)
    }
    return {name: importlib.import_module(module).build(bindings) for name, module in modules.items()}


def routes_of(function: str) -> set[str]:
    return {event["Path"] for event in events(function, kind="Api")}


def function_behind(path: str) -> str:
    """The function that gets a call: API Gateway prefers what is written out to a variable, and a long prefix."""
    routes = {route: name for name in of_type(FUNCTION) for route in routes_of(name)}
    fitting = [route for route in routes if route == path or path.startswith(route.removesuffix("{proxy+}") or "//")]
    return routes[max(fitting, key=lambda route: (route == path, len(route)))]


def test_it_is_a_valid_document() -> None:
    validate(DOCUMENT)


def test_it_is_served_as_it_is_and_may_be_kept() -> None:
    api = operations.api.build(Bindings(settings(), make_client=lambda _: object()))
    answer = api({"httpMethod": "GET", "path": "/openapi.json"}, Context())
    assert (answer["statusCode"], answer["body"]) == (200, document.text())
    assert answer["headers"]["Content-Type"] == "application/json"
    assert answer["headers"]["Cache-Control"] == "public, max-age=300"
    assert answer["headers"]["x-request-id"] == "request-1"


def test_its_file_is_read_when_it_is_asked_for_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    text_of_file = Path.read_text

    def note(self: Path, **how: Any) -> str:
        read.append(self)
        return text_of_file(self, **how)

    monkeypatch.setattr(Path, "read_text", note)
    fresh = importlib.reload(document)
    assert read == []
    assert fresh.text() is fresh.text()
    assert [path.name for path in read] == ["openapi.json"]


def test_it_describes_what_the_handlers_answer_and_nothing_else() -> None:
    described = {(method, without_names(path)) for (method, path), _ in openapi.operations()}
    assert described == {
        (method, without_names(rule)) for api in handlers().values() for method, rule in api.operations
    }


def test_the_template_sends_each_described_path_to_the_function_that_answers_it() -> None:
    for (method, path), _ in openapi.operations():
        answered = {(verb, without_names(rule)) for verb, rule in handlers()[function_behind(path)].operations}
        assert (method, without_names(path)) in answered


def test_each_route_of_the_template_is_described() -> None:
    every = {route for function in of_type(FUNCTION) for route in routes_of(function)}
    assert every >= RESERVED
    described = {without_names(path) for path in DOCUMENT["paths"]}
    assert {without_names(route.replace("{proxy+}", "{proxy}")) for route in every - RESERVED} <= described


@pytest.mark.parametrize(("operation", "described"), openapi.operations(), ids=str)
def test_a_token_is_asked_for_where_it_says_so(operation: openapi.Operation, described: dict[str, Any]) -> None:
    method, path = operation
    answer = handlers()[function_behind(path)]({"httpMethod": method, "path": path}, Context())
    public = described.get("security") == []
    assert public == (answer["statusCode"] != 401)
    assert public == ("401" not in described["responses"])


# What can go wrong


def made() -> Iterator[tuple[str, str | None]]:
    """Each name that the product calls or raises, with the code that it is given there."""
    files = [path for folder in ("functions", "layers/isolane/isolane") for path in (ROOT / folder).rglob("*.py")]
    for node in (node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
        match node:
            case ast.Call(func=ast.Name(id=name), keywords=words):
                codes = [
                    word.value.value for word in words if word.arg == "code" and isinstance(word.value, ast.Constant)
                ]
                yield name, str(codes[0]) if codes else None
            case ast.Raise(exc=ast.Name(id=name)):
                yield name, None


def answers_of_the_code() -> set[tuple[str, str]]:
    """Every status and code that can come out: what is refused, by code or document, and trouble behind it."""
    kinds = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Refused)}
    refused = {(str(kinds[name].status), code or kinds[name].code) for name, code in made() if name in kinds}
    by_document = {
        ("400", answer["error"])
        for node in walk(COMPONENTS["schemas"])
        for answer in node.get("x-refusals", {}).values()
    }
    return refused | by_document | {("503", Contended.code), ("503", Unavailable.code), ("500", IsolaneError.code)}


def answers_of_the_gateway() -> set[tuple[str, str]]:
    """What API Gateway says by itself, where it says what."""
    said = RESOURCES["Api"]["Properties"]["GatewayResponses"]
    bodies = {name: json.loads(said[name]["ResponseTemplates"]["application/json"]) for name in GATEWAYS_STATUSES}
    return {(str(status), bodies[name]["error"]) for name, status in GATEWAYS_STATUSES.items()}


def test_each_error_that_can_come_out_is_described_and_no_other() -> None:
    anywhere = {"404": COMPONENTS["responses"]["NotFound"], "405": COMPONENTS["responses"]["MethodNotAllowed"]}
    described = {
        (status, code)
        for status, answer in (*openapi.responses(), *anywhere.items())
        for code in codes_of(resolved(answer))
    }
    assert described == answers_of_the_code() | answers_of_the_gateway()


def test_each_code_has_an_example() -> None:
    for _, answer in openapi.responses():
        if codes_of(answer):
            assert list(answer["content"]["application/json"]["examples"]) == codes_of(answer)


def test_each_answer_has_the_headers_that_all_have() -> None:
    for _, answer in openapi.responses():
        assert answer["headers"].keys() >= {"x-request-id", "Cache-Control", "Access-Control-Allow-Origin"}


def examples() -> Iterator[tuple[Any, Any]]:
    """Each schema with a value that is given as its example."""
    for node in walk(DOCUMENT):
        match node:
            case {"schema": schema, "examples": dict(named)}:
                yield from ((schema, resolved(each)["value"]) for each in named.values())
            case {"schema": schema, "example": value}:
                yield schema, value
            case {"examples": list(values)}:
                yield from ((node, value) for value in values)


def test_every_example_is_what_it_is_an_example_of() -> None:
    found = list(examples())
    assert len(found) > 40
    for schema, value in found:
        openapi.validator(schema).validate(value)
