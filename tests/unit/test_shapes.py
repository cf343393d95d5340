"""A body is taken exactly where the document's schema takes it, and refused with the code that is written there."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isolane.characters import clean
from isolane.errors import InvalidRequest
from isolane.shapes import Shape
from scoring.text import text_of
from tests import openapi

SCHEMA = openapi.COMPONENTS["schemas"]["ScoreRequest"]
BY_REFERENCE = openapi.validator(SCHEMA)
ODD = " \n\t\x00\x1f\x7f\u0085\u00a0\u2003\u3000\ufeff\u200b\u0301a"

texts = st.text() | st.text(st.sampled_from(ODD), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def accepts(body: dict[str, Any]) -> bool:
    try:
        text_of(body)
    except InvalidRequest:
        return False
    return True


@given(body=st.fixed_dictionaries({}, optional={"text": texts | values, "callbackUrl": values, "more": values}))
@example(body={"text": None})
@example(body={"text": "a", "callbackUrl": None})
@example(body={"text": "\u0301"})
def test_a_body_is_taken_if_and_only_if_the_schema_takes_it(body: dict[str, Any]) -> None:
    assert accepts(body) == BY_REFERENCE.is_valid(body)


def test_no_character_is_blank_to_the_schema_and_not_to_the_scorer() -> None:
    text = re.compile(SCHEMA["properties"]["text"]["pattern"])
    # All that Unicode calls blank, or a control character, lies in the first plane.
    characters = [chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    assert [c for c in characters if (text.search(c) is not None) != (clean(c) != "")] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "text_required"),
        ({"text": None}, "text_required"),
        ({"text": ""}, "text_required"),
        ({"text": " \n\u3000\x00"}, "text_required"),
        ({"text": 7}, "invalid_request"),
        ({"text": ["a"]}, "invalid_request"),
        ({"text": "a", "callbackUrl": "https://example.com"}, "invalid_request"),
        ({"text": "a", "callbackUrl": None}, "invalid_request"),
    ],
)
def test_a_refusal_has_the_code_that_the_schema_has_for_it(body: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        text_of(body)
    assert (refused.value.code, refused.value.message[-1]) == (code, ".")


def test_fields_that_nobody_described_are_ignored() -> None:
    assert text_of({"text": " a ", "more": {"callbackUrl": "x"}}) == "a"


@pytest.mark.parametrize("body", [{"count": "secret"}, {"never": "secret"}, {"count": None}])
def test_a_refusal_without_a_code_of_its_own_says_nothing_but_that(body: dict[str, Any]) -> None:
    thing = {"type": "object", "properties": {"count": {"type": "integer"}, "never": False}}
    with pytest.raises(InvalidRequest) as refused:
        Shape("Thing", schemas={"Thing": thing}).check(body)
    assert (refused.value.code, refused.value.message) == ("invalid_request", InvalidRequest().message)
    assert refused.value.__suppress_context__, "what the validator says repeats the value"
