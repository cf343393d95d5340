"""Values to DynamoDB attributes and back: the one way in and the one way out.

str, bool, None, bytes, int, float, list, dict and sets of str or of int. A float goes through its text, so that 0.1
stays 0.1; what DynamoDB would round, or cannot hold, is refused. An empty set is left out, as DynamoDB has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, DecimalException
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer

from isolane.errors import InvalidRequest

_serializer = TypeSerializer()
_deserializer = TypeDeserializer()

_SMALLEST = 1e-130
_LARGEST = 1e126
"""DynamoDB's numbers lie between these, and have 38 digits."""


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name; raises InvalidRequest for a value that would not come back as it went in."""
    return {name: to_attribute(value) for name, value in values.items() if not _is_empty_set(value)}


def to_attribute(value: Any) -> Any:
    try:
        return _serializer.serialize(_to_decimals(value))
    except (DecimalException, TypeError, ValueError):
        raise InvalidRequest("A number or value is outside of what can be stored.") from None


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _from_decimals(_deserializer.deserialize(attribute)) for name, attribute in item.items()}


def _to_decimals(value: Any) -> Any:
    if isinstance(value, float):
        return _decimal(value)
    if isinstance(value, Mapping):
        return {name: _to_decimals(inner) for name, inner in value.items() if not _is_empty_set(inner)}
    if isinstance(value, list | tuple):
        return [_to_decimals(inner) for inner in value]
    return value


def _decimal(value: float) -> Decimal:
    if not (value == 0 or _SMALLEST <= abs(value) < _LARGEST):  # also false for NaN and infinity
        raise ValueError
    return Decimal(repr(value))


def _from_decimals(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Binary):
        return value.__bytes__()
    if isinstance(value, dict):
        return {name: _from_decimals(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_from_decimals(inner) for inner in value]
    if isinstance(value, set):
        return {_from_decimals(inner) for inner in value}
    return value


def _is_empty_set(value: Any) -> bool:
    return isinstance(value, set | frozenset) and not value
