"""Where a page of a list ended, as a text that only this API can read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from isolane.errors import InvalidCursor, IsolaneError
from isolane.json_edge import JsonObject, dumps, parse_object
from isolane.task import is_task_id


def cursor_of(position: JsonObject) -> str:
    """The cursor for a position: an id, "t", and a time, under names of one letter."""
    return base64.urlsafe_b64encode(dumps(position).encode()).decode().rstrip("=")


def position_of(cursor: str, *, time: str, is_id: Callable[[str], bool] = is_task_id) -> tuple[str, int]:
    """The id, a task's if nothing else is said, and the time in a cursor that calls it by that letter.

    Raises InvalidCursor.
    """
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        fields = parse_object(text)
    except (binascii.Error, ValueError, IsolaneError):
        raise InvalidCursor from None
    found, at = fields.get("t"), fields.get(time)
    if set(fields) != {"t", time} or not isinstance(found, str) or not is_id(found) or not _is_time(at):
        raise InvalidCursor
    return found, at  # type: ignore[return-value]  # a whole number, as `_is_time` has it


def _is_time(value: Any) -> bool:
    """Seconds or milliseconds that a clock can show, and that DynamoDB can hold."""
    return type(value) is int and 0 <= value < 10**15
