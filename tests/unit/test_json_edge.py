"""The strict parser refuses what Python's own lets through, and never fails in any other way."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.errors import InvalidJson, InvalidRequest, TooLarge
from isolane.json_edge import MAX_BYTES, canonical, decode_body, digest, dumps, parse, parse_object

LAYER = Path(__file__).parents[2] / "layers" / "isolane"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8)

NOT_JSON = {
    "nothing": "",
    "blanks": " \n",
    "a cut object": "{bad",
    "a cut string": '"abc',
    "a lone backslash": "\\",
    "two values": "{} {}",
    "a trailing comma": "[1,]",
    "single quotes": "{'a': 1}",
    "a comment": "{} // ok",
    "a control character in a string": '"a\nb"',
    "a bad escape": '"\\x41"',
    "a bad unicode escape": '"\\u12G4"',
    "a leading zero": "01",
    "a leading plus": "+1",
    "a hexadecimal number": "0x10",
    "a full-width digit": "\uff11",
    "a byte order mark": "\ufeff{}",
    "a byte order mark in bytes": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a PNG": b"\x89PNG\r\n\x1a\n\0",
    "a cut UTF-8 sequence": b'"\xe4\xb8"',
    "an overlong UTF-8 sequence": b'"\xc0\xaf"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "a raw surrogate in text": '"\ud800"',
}
ODDITIES = {
    "a duplicate key": '{"a": 1, "a": 2}',
    "a duplicate key with an equal value": '{"a": 1, "a": 1}',
    "a duplicate key further in": '[[{"b": {"a": 1, "a": 2}}]]',
    "a duplicate key in other spelling": '{"a": 1, "\\u0061": 2}',
    "NaN": '{"score": NaN}',
    "Infinity": "Infinity",
    "minus Infinity": "[-Infinity]",
    "a number that is not finite": "1e999",
    "a negative number that is not finite": '{"a": -1e999}',
    "an integer of 4,301 digits": '{"x": ' + "1" * 4_301 + "}",
    "an integer of 5,000 digits": "-" + "9" * 5_000,
    "a fraction of 5,000 digits": "0." + "1" * 5_000,
    "an exponent of 5,000 digits": "1e-" + "1" * 5_000,
    "65 arrays": "[" * 65 + "]" * 65,
    "65 objects": '{"a":' * 65 + "1" + "}" * 65,
    "65 of either": '[{"a":' * 32 + "[1]" + "}]" * 32,
    "20,000 arrays": "[" * 20_000 + "]" * 20_000,
    "arrays after an escaped quote": '["\\"", ' + "[" * 64 + "]" * 64 + "]",
    "arrays after an escaped backslash": '["\\\\", ' + "[" * 64 + "]" * 64 + "]",
    "a high surrogate alone": '"\\ud800"',
    "a low surrogate alone": '{"a": "x\\udc00"}',
    "surrogates in the wrong order": '"\\udc00\\ud800"',
    "a surrogate in a key": '{"\\uD800": 1}',
}
LEGAL: dict[str, tuple[str | bytes, Any]] = {
    "blanks around it": (" \t\r\n[1] \n", [1]),
    "a surrogate pair": ('"\\ud83d\\ude00"', "😀"),
    "UTF-8": ('{"文": "é"}'.encode(), {"文": "é"}),
    "64 arrays": ("[" * 64 + "]" * 64, None),
    "brackets in a string": (json.dumps("[" * 1_000), "[" * 1_000),
    "brackets after an escaped quote": (json.dumps('\\"' + "{" * 1_000), '\\"' + "{" * 1_000),
    "brackets beside each other": (json.dumps([[]] * 1_000), [[]] * 1_000),
    "an integer of 4,300 digits": ("-" + "1" * 4_300, -int("1" * 4_300)),
    "a tiny number": ("1e-999", 0.0),
    "equal keys in different objects": ('[{"a": 1}, {"a": {"a": 2}}]', [{"a": 1}, {"a": {"a": 2}}]),
    "keys that differ in their Unicode form": ('{"é": 1, "e\u0301": 2}', {"é": 1, "e\u0301": 2}),
}


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_refused(raw: str | bytes) -> None:
    with pytest.raises(InvalidJson) as refused:
        parse(raw)
    assert (refused.value.code, refused.value.status) == ("invalid_json", 400)


@pytest.mark.parametrize("raw", ODDITIES.values(), ids=ODDITIES)
@pytest.mark.parametrize("spelling", [str, str.encode], ids=["text", "bytes"])
def test_an_oddity_that_pythons_parser_takes_is_refused(raw: str, spelling: Any) -> None:
    with pytest.raises(InvalidJson):
        parse(spelling(raw))


@pytest.mark.parametrize(("raw", "expected"), LEGAL.values(), ids=LEGAL)
def test_what_looks_odd_and_is_legal_is_taken(raw: str | bytes, expected: Any) -> None:
    found = parse(raw)
    assert found == expected or (expected is None and isinstance(found, list))


@pytest.mark.parametrize("raw", ["null", "[]", '"x"', "1", "true", '[{"a": 1}]'])
def test_a_body_that_is_no_object_is_an_invalid_request(raw: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_object(raw)
    assert refused.value.code == "invalid_request"
    assert type(refused.value) is InvalidRequest


def test_an_object_is_returned_as_it_is() -> None:
    assert parse_object(b'{"a": [1, 2.5, null, true]}') == {"a": [1, 2.5, None, True]}


def test_one_and_true_and_a_float_keep_their_types() -> None:
    found = parse("[1, true, 1.0]")
    assert isinstance(found, list)
    assert [type(value) for value in found] == [int, bool, float]


@pytest.mark.parametrize("raw", ['"' + "é" * 49 + '"', ('"' + "é" * 49 + '"').encode()], ids=["text", "bytes"])
def test_size_is_counted_in_bytes_and_the_limit_itself_is_allowed(raw: str | bytes) -> None:
    assert parse(raw, max_bytes=100) == "é" * 49
    with pytest.raises(TooLarge) as refused:
        parse(raw, max_bytes=99)
    assert (refused.value.code, refused.value.status) == ("too_large", 413)


def test_the_limit_is_one_mebibyte_where_none_is_given() -> None:
    assert parse('"' + "a" * (MAX_BYTES - 2) + '"') == "a" * (MAX_BYTES - 2)
    with pytest.raises(TooLarge):
        parse(" " * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    "raw",
    [
        '{"secret-9": 1, "secret-9": 2}',
        '{"secret-9": NaN}',
        '["secret-9"]',
        "secret-9",
        '"secret-9\\ud800"',
        b"secret-9\xff",
    ],
)
def test_no_error_carries_the_input(raw: str | bytes) -> None:
    with pytest.raises((InvalidJson, InvalidRequest)) as refused:
        parse_object(raw)
    chain = [refused.value, refused.value.__cause__]
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert "secret-9" not in "".join(map(repr, chain)) + "".join(map(str, chain))


@given(VALUES)
def test_any_json_value_comes_back_as_it_was(value: Any) -> None:
    assert parse(dumps(value)) == value
    assert parse(json.dumps(value).encode()) == value


@given(st.binary() | st.text() | st.text(alphabet='[]{}",:\\u0d8e1-.NaIinfty \n'))
def test_no_input_fails_in_any_other_way(raw: str | bytes) -> None:
    try:
        parse_object(raw, max_bytes=50)
    except (InvalidJson, InvalidRequest, TooLarge):
        return
    json.loads(raw)


@given(VALUES)
def test_the_canonical_form_is_json_of_an_equal_value_and_its_own_canonical_form(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@given(st.dictionaries(TEXTS, SCALARS).flatmap(lambda value: st.permutations(list(value.items()))))
def test_the_order_of_keys_does_not_matter(pairs: list[tuple[str, Any]]) -> None:
    assert digest(dict(pairs)) == digest(dict(sorted(pairs, key=lambda pair: pair[0])))


BLOCKS = {
    "opening brackets": "[",
    "closing brackets": "]",
    "pairs of brackets": "[]",
    "open objects": '{"a":',
    "digits": "1",
    "quotes": '"',
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "a quote and backslashes": '"\\\\',
    "escaped surrogates": '"\\ud800",',
    "keys": '"a":1,',
    "commas": "1,",
    "minus signs": "-",
    "exponents": "1e9",
    "blanks": " ",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("frame", [("", ""), ("[", "]"), ('"', '"')], ids=["bare", "in an array", "in a string"])
def test_a_mebibyte_of_anything_is_dealt_with_in_linear_time(block: str, frame: tuple[str, str]) -> None:
    opening, closing = frame
    raw = opening + block * ((MAX_BYTES - 2) // len(block)) + closing
    started_s = time.process_time()
    with contextlib.suppress(InvalidJson):
        parse(raw)
    # A quadratic pass over a mebibyte takes minutes at the least; this leaves a slow machine ten times what it needs.
    assert time.process_time() - started_s < 5


GOLDEN: dict[str, tuple[Any, str, str]] = {
    "sorted keys": (
        {"b": 2, "a": 1},
        '{"a":1,"b":2}',
        "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777",
    ),
    "an integral float": (
        [1.0, -0.0, 1e22],
        "[1,0,10000000000000000000000]",
        "2573727854f2c18498360e64588f0ce379b74fd71c4d61d770d124a16690abc5",
    ),
    "a float": (
        [0.1, 1.5e-7, 1e-999],
        "[0.1,1.5e-07,0]",
        "257af7b2d0e9ebdf8a82aa5a4dd15517e25961f1e4d2b168c39b3434abca7ae7",
    ),
    "Chinese and an emoji": (
        {"文": "😀"},
        '{"文":"😀"}',
        "2d77195fb2b5edd2217d93f147d8fe1855560b746fb37ea774e9b4de7a7e333c",
    ),
    "two Unicode forms of one letter": (
        ["é", "e\u0301"],
        '["é","e\u0301"]',
        "4f9aefe2a56dde33aa0522021cb5e8692f35b700043dbee664b3611e2b92f724",
    ),
    "truth is not one": (
        [True, 1, None],
        "[true,1,null]",
        "32d7bac4d3277d4498e89768c91f19909558043aa0d0d6d5ef40d9253935136f",
    ),
    "what needs escaping": (
        '"\\\n\x00/',
        '"\\"\\\\\\n\\u0000/"',
        "7b021694ce1509e6855e285e71c5599f48266eab461ea46cf403c47ef2f40741",
    ),
    "nested": (
        {"a": [{"d": 1.0, "c": {}}], "": []},
        '{"":[],"a":[{"c":{},"d":1}]}',
        "492761a068da91193514de235f3f7a0c348a5362a853ef1af8da348510d60aa2",
    ),
}


@pytest.mark.parametrize(("value", "text", "sha256"), GOLDEN.values(), ids=GOLDEN)
def test_canonical_form_and_digest_are_what_they_always_were(value: Any, text: str, sha256: str) -> None:
    assert (canonical(value), digest(value)) == (text, sha256)


def test_equal_values_have_one_digest_and_different_ones_have_two() -> None:
    assert digest(parse('{"a":1,"b":2}')) == digest(parse('{ "b": 2.0, "a": 1e0 }'))
    assert digest("é") != digest("e\u0301")
    assert digest(1) != digest("1") != digest(True)


def test_the_digest_is_the_same_in_another_process() -> None:
    value = {"é": [1.0], "a": {"c": 1, "b": 2}}
    code = f"import sys; from isolane.json_edge import digest; sys.stdout.write(digest({value!r}))"
    environment = {"PYTHONPATH": str(LAYER), "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == digest({"a": {"b": 2, "c": 1}, "é": [1]})


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_an_answer_never_holds_a_number_that_is_none(value: Any) -> None:
    for write in (dumps, canonical):
        with pytest.raises(ValueError, match="JSON compliant"):
            write(value)


def test_an_answer_is_compact_and_not_escaped() -> None:
    assert dumps({"a": ["é", 1.5]}) == '{"a":["é",1.5]}'


def test_a_body_is_decoded_by_the_flag_and_not_by_its_looks() -> None:
    encoded = base64.b64encode('{"é": 1}'.encode()).decode()
    assert decode_body(encoded, is_base64=True) == '{"é": 1}'.encode()
    assert decode_body(encoded, is_base64=False) == encoded.encode()


@pytest.mark.parametrize("is_base64", [True, False])
@pytest.mark.parametrize("body", [None, ""])
def test_no_body_is_no_bytes(body: str | None, is_base64: bool) -> None:
    assert decode_body(body, is_base64=is_base64) == b""


@pytest.mark.parametrize(
    "body",
    ["!!!!", "QQ", "QQ=", "QQ===", "QR==", "Q Q=", "QUJD\n", "QQ==QQ==", "=", "é", "_-__", "\ud800"],
)
def test_bad_base64_is_invalid_json(body: str) -> None:
    with pytest.raises(InvalidJson):
        decode_body(body, is_base64=True)


def test_half_a_surrogate_pair_in_a_plain_body_is_invalid_json() -> None:
    with pytest.raises(InvalidJson):
        decode_body('"\ud800"', is_base64=False)


@given(st.binary())
def test_what_an_encoder_wrote_is_decoded(data: bytes) -> None:
    assert decode_body(base64.b64encode(data).decode(), is_base64=True) == data


def test_the_size_of_a_body_is_that_of_what_was_decoded() -> None:
    body = b'"' + b"a" * (MAX_BYTES - 2) + b'"'
    encoded = base64.b64encode(body).decode()
    assert len(encoded) > MAX_BYTES
    assert parse(decode_body(encoded, is_base64=True)) == "a" * (MAX_BYTES - 2)
