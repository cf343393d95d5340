"""The API's own document as a value that tests can ask questions of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jsonschema_rs import Draft202012Validator

from web import document

DOCUMENT: dict[str, Any] = json.loads(document.text())
COMPONENTS: dict[str, Any] = DOCUMENT["components"]
VERBS = {"get", "put", "post", "delete", "patch", "head", "options", "trace"}

Operation = tuple[str, str]
"""A method and a path."""


def operations() -> list[tuple[Operation, dict[str, Any]]]:
    """Each operation with what the document says of it."""
    return [
        ((verb.upper(), path), item[verb])
        for path, item in DOCUMENT["paths"].items()
        for verb in sorted(VERBS & item.keys())
    ]


def without_names(path: str) -> str:
    """A path of the document or a rule of a handler, with nothing in its variables: `/tasks/{}`."""
    return re.sub(r"\{\w+\}|<\w+>", "{}", path)


def resolved(node: Any) -> Any:
    """What a `$ref` stands for; anything else as it is."""
    while "$ref" in node:
        found: Any = DOCUMENT
        for name in node["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        node = found
    return node


def responses() -> list[tuple[str, dict[str, Any]]]:
    """Each answer of each operation, by its status."""
    return [
        (status, resolved(answer)) for _, described in operations() for status, answer in described["responses"].items()
    ]


def codes_of(answer: dict[str, Any]) -> list[str]:
    """The codes of an error's answer; an answer that is no error has none."""
    parts = answer["content"]["application/json"]["schema"].get("allOf", [])
    return [code for part in parts for code in part.get("properties", {}).get("error", {}).get("enum", [])]


def validator(schema: Any) -> Draft202012Validator:
    """The reference reading of a schema of the document, which is not the one that the handlers use."""
    return Draft202012Validator({**schema, "components": COMPONENTS})


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Each object in a part of the document, at every depth."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(inner)
