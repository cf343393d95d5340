"""What shape a request's body, or a part of it, must have: a JSON Schema of the API's own document.

The document also says what a refusal answers. A schema may carry `x-refusals`: for each keyword that a value can break,
the answer, as `{"error": code, "message": sentence}`; `null` among them stands for a null where something else is
wanted. Without one it is `invalid_request`.

By fastjsonschema: pure Python, and 3 to 5 % of a cold start, import and compilation together (`make bench` holds the
whole at 1.25 times boto3 and its clients). Checks written by hand, and held to the document by a test, would cost
nothing at run time, but would be a second source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fastjsonschema

from isolane.errors import InvalidRequest


class Shape:
    """The values that one schema takes, of those under `#/components/schemas/`."""

    def __init__(self, name: str, *, schemas: Mapping[str, Any]) -> None:
        definition = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
        self._validate: Any = fastjsonschema.compile(definition, use_default=False, use_formats=False)

    def check(self, value: Any) -> None:
        """Raises InvalidRequest, with the code and the sentence that the schema has for what is wrong."""
        try:
            self._validate(value)
        except fastjsonschema.JsonSchemaValueException as wrong:
            raise _refusal(wrong) from None  # it holds the value, and nothing may echo that


def _refusal(wrong: fastjsonschema.JsonSchemaValueException) -> InvalidRequest:
    broken = wrong.definition
    refusals = broken.get("x-refusals", {}) if isinstance(broken, dict) else {}  # a schema may be just `false`
    answer = refusals.get("null" if wrong.value is None else wrong.rule) or refusals.get(wrong.rule)
    return InvalidRequest() if answer is None else InvalidRequest(answer["message"], code=answer["error"])
