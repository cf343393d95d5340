"""What a named object is between two calls: the JSON of its attributes, and nothing else.

An object is of any class that can be made without arguments; its attributes are its state. What comes back from the
store is a new instance each time, with the attributes that were kept, and the class's own for those that it has had
added since. So a method works on a copy: what it does and is not committed has not happened.

An object that has an attribute `alarm_at_ms` has an alarm: at that time (milliseconds since 1970) its method `alarm` is
called, with the attribute back at None. Setting, moving and deleting it is part of the state like all the rest.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from isolane.errors import ConfigurationError, TooLarge
from isolane.json_edge import dumps

T = TypeVar("T")

ALARM = "alarm_at_ms"
MOST_BYTES = 350 * 1024
"""Of the state's JSON in UTF-8; a row of DynamoDB has 400 KB, and a transaction copies it."""


def instance_of(kind: type[T], text: str | None) -> T:
    """The object as it was kept, or a new one."""
    made = kind()
    if text is not None:
        vars(made).update(json.loads(text))
    return made


def text_of(instance: object) -> str:
    """The object's state. Raises TooLarge `state_too_large`, and ConfigurationError for what JSON cannot keep."""
    state = vars(instance)
    text = _json(state, kind=type(instance))
    if json.loads(text) != state:
        raise ConfigurationError(f"{type(instance).__name__} has state that JSON would change, such as a tuple.")
    if len(text.encode()) > MOST_BYTES:
        raise TooLarge("The state of an object has at most 350 KB.", code="state_too_large")
    return text


def alarm_of(instance: object) -> int | None:
    """When the object's alarm rings; None where there is none."""
    at_ms = vars(instance).get(ALARM)
    if at_ms is not None and type(at_ms) is not int:
        raise ConfigurationError(f"{type(instance).__name__} has an alarm that is no whole number of milliseconds.")
    return at_ms


def answer_text(value: Any, *, kind: type) -> str:
    """An answer as it is kept for the one who asks again."""
    return _json(value, kind=kind)


def _json(value: Any, *, kind: type) -> str:
    try:
        text = dumps(value)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError(f"{kind.__name__} has state or answers that are not JSON.") from None
    return text
