"""The one strict JSON parser: request bodies, queue bodies and model replies.

What Python's own parser lets through (a duplicate key, NaN, 1e999, half of a surrogate pair, 40 KB of brackets) is
refused here, so that the value that was checked, hashed and stored is the value that everybody else reads.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from itertools import accumulate
from typing import NoReturn, TypeAlias

from isolane.errors import InvalidJson, InvalidRequest, TooLarge

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_BYTES = 1_048_576
"""The size of a body, decoded, unless the caller says otherwise."""
MAX_DEPTH = 64
MAX_DIGITS = 4_300
"""What Python itself converts by default; it is fixed here so that no setting of the interpreter moves it."""

_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")


def parse(raw: str | bytes, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """The value that a JSON text holds. Raises InvalidJson, and TooLarge above `max_bytes` of UTF-8."""
    text = _text(raw, max_bytes=max_bytes)
    try:
        _check_depth(text)
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_finite,
        )
        _check_escapes(text, value)
    except (ValueError, RecursionError):  # the latter only where the caller's own stack is nearly used up
        raise InvalidJson from None
    return value


def parse_object(raw: str | bytes, *, max_bytes: int = MAX_BYTES) -> JsonObject:
    """The same, for what must be an object. Raises InvalidRequest for any other value."""
    value = parse(raw, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return value


def decode_body(body: str | None, *, is_base64: bool) -> bytes:
    """The bytes of a proxy event's body; no body is no bytes. Raises InvalidJson for bad base64 and half surrogates."""
    try:
        return _from_base64(body or "") if is_base64 else (body or "").encode()
    except ValueError:
        raise InvalidJson from None


def dumps(value: JsonValue) -> str:
    """JSON for an answer: compact, and ValueError rather than a NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def canonical(value: JsonValue) -> str:
    """One text for all spellings of a value: keys sorted by code point, 1.0 written as 1, strings as they are."""
    return json.dumps(_with_integers(value), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def digest(value: JsonValue) -> str:
    """SHA-256 of the canonical form, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _text(raw: str | bytes, *, max_bytes: int) -> str:
    # A character is at least one byte, so a text that is too long is refused before it is encoded.
    if len(raw) > max_bytes:
        raise TooLarge
    try:
        encoded = raw.encode() if isinstance(raw, str) else raw
        text = encoded.decode()
    except UnicodeError:
        raise InvalidJson from None
    if len(encoded) > max_bytes:
        raise TooLarge
    if text.startswith("\ufeff"):
        raise InvalidJson
    return text


def _check_depth(text: str) -> None:
    """Linear and without recursion, because how deep the parser itself can go differs from one Python to the next."""
    if max(accumulate(map(_STEP.__getitem__, _brackets(text))), default=0) > MAX_DEPTH:
        raise ValueError


def _brackets(text: str) -> str:
    """The brackets outside strings: without escapes, every quote opens or closes one."""
    pieces = text.replace("\\\\", "").replace('\\"', "").split('"')
    return _NO_BRACKETS.sub("", "".join(pieces[::2]))


def _check_escapes(text: str, value: JsonValue) -> None:
    """Only an escape can bring half of a surrogate pair into a text that was valid UTF-8."""
    if "\\u" in text:
        dumps(value).encode()


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _integer(literal: str) -> int:
    _check_digits(literal)
    return int(literal)


def _finite(literal: str) -> float:
    _check_digits(literal)
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError
    return number


def _check_digits(literal: str) -> None:
    if len(literal) > MAX_DIGITS and sum(map(str.isdigit, literal)) > MAX_DIGITS:
        raise ValueError


def _from_base64(body: str) -> bytes:
    """Strict: the alphabet, the padding and the unused bits are what an encoder would have written."""
    decoded = base64.b64decode(body, validate=True)
    if base64.b64encode(decoded).decode() != body:
        raise ValueError
    return decoded


def _with_integers(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_integers(entry) for key, entry in value.items()}
    return [_with_integers(entry) for entry in value] if isinstance(value, list) else value
