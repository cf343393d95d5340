"""What an answer of Replicate's says of a prediction: one of our words, and nothing of the provider's."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from images.provider import Made, NoPicture, NotMade, Prediction, Waiting, Working
from images.replicate_answers import MAX_BYTES, id_in, prediction_in
from isolane.deadline import Deadline
from isolane.model_errors import ModelBusy
from tests.pictures import png

ID = "0s3qwm6k1drj40cr8p5bk7ecx4"
URL = "https://replicate.delivery/a.png?secret-of-the-provider"
DEADLINE = Deadline.after(1_000)


def fetch(url: str, deadline: Deadline) -> bytes:
    return f"fetched {url}".encode()


def read(answer: Any) -> Prediction:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return prediction_in(body, prediction_id=ID, fetch=fetch)


def said(status: Any, **other: Any) -> Prediction:
    return read({"id": ID, "status": status, "output": None, "error": None, "logs": "", **other})


def test_a_prediction_waits_or_is_worked_on() -> None:
    assert (said("starting"), said("processing")) == (Waiting(), Working())


def test_what_is_put_out_before_the_end_does_not_count() -> None:
    assert said("processing", output=[URL]) == Working()


@pytest.mark.parametrize(
    "output", [URL, [URL], [URL, "https://replicate.delivery/b.png"]], ids=["one", "a list", "two"]
)
def test_a_picture_is_at_the_first_url_and_is_fetched_when_it_is_collected(output: Any) -> None:
    made = said("succeeded", output=output)
    assert isinstance(made, Made)
    assert made.collect(DEADLINE) == f"fetched {URL}".encode()


def test_a_picture_may_come_inside_the_answer() -> None:
    made = said("succeeded", output=[f"data:application/octet-stream;base64,{base64.b64encode(png()).decode()}"])
    assert isinstance(made, Made)
    assert made.collect(DEADLINE) == png()


@pytest.mark.parametrize(
    "url", ["data:,x", "data:image/png;base64,A", "data:image/png;base64,A=A=", "data:image/png;base64,A A", "data:"]
)
def test_a_data_url_that_is_none_is_no_picture(url: str) -> None:
    made = said("succeeded", output=url)
    assert isinstance(made, Made)
    with pytest.raises(NoPicture) as failed:
        made.collect(DEADLINE)
    assert failed.value.code == "picture_invalid"


@pytest.mark.parametrize(
    "output", [None, [], "", [""], {}, {"image": URL}, [[URL]], [None], [{"url": URL}], 7, True], ids=json.dumps
)
def test_a_success_without_a_picture_is_a_failure(output: Any) -> None:
    assert_not_made(said("succeeded", output=output), "no_output")


def test_a_success_that_does_not_speak_of_output_is_a_failure() -> None:
    assert_not_made(read({"id": ID, "status": "succeeded"}), "no_output")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("CUDA out of memory: secret-of-the-provider", "generation_failed"),
        (None, "generation_failed"),
        ({"detail": "secret-of-the-provider"}, "generation_failed"),
        (["x"] * 10_000, "generation_failed"),
        ("NSFW content detected. secret-of-the-provider", "refused"),
        ("The input or output was flagged as sensitive. (E005) secret-of-the-provider", "refused"),
        ({"code": "content_policy_violation"}, "refused"),
    ],
)
def test_a_failure_says_why_in_our_words(error: Any, code: str) -> None:
    assert_not_made(said("failed", error=error), code)


@pytest.mark.parametrize("status", ["canceled", "aborted"])
def test_what_was_called_off_is_not_made(status: str) -> None:
    assert_not_made(said(status, output=[URL]), "generation_canceled")


def assert_not_made(found: Prediction, code: str) -> None:
    assert isinstance(found, NotMade)
    assert found.problem.code == code
    assert "secret-of-the-provider" not in found.problem.message


FORMLESS = {
    "a status that nobody knows": {"id": ID, "status": "resting"},
    "a status in capitals": {"id": ID, "status": "SUCCEEDED", "output": URL},
    "no status": {"id": ID},
    "a status that is no word": {"id": ID, "status": ["succeeded"]},
    "another prediction": {"id": "another", "status": "succeeded", "output": URL},
    "no id": {"status": "succeeded", "output": URL},
    "an id that is a number": {"id": 7, "status": "succeeded"},
    "a list": [],
    "nothing": b"",
    "a page": b"<html>",
    "half": b'{"id": "',
    "an id twice": b'{"id": "x", "id": "' + ID.encode() + b'", "status": "starting"}',
    "no text": b"\xff",
    "too much": json.dumps({"id": ID, "status": "starting", "logs": "x" * MAX_BYTES}).encode(),
    "too deep": b'{"id": ' + b"[" * 100 + b"]" * 100 + b"}",
}


@pytest.mark.parametrize("answer", FORMLESS.values(), ids=FORMLESS)
def test_an_answer_in_another_form_says_nothing_and_may_pass(answer: Any) -> None:
    with pytest.raises(ModelBusy):
        read(answer)


@pytest.mark.parametrize("name", [ID, "ufawqhfynnddngldkgtslldrkq", "x", "A-b_9", "x" * 64])
def test_an_id_is_short_and_of_safe_letters(name: str) -> None:
    assert id_in(json.dumps({"id": name, "status": "starting"}).encode()) == name


@pytest.mark.parametrize(
    "name",
    ["", "x" * 65, "../models", "a/b", "a b", "a?b", "a#b", "a%2Fb", "ä", "a\n", ".", "..", None, 7, ["x"]],
    ids=repr,
)
def test_any_other_id_is_none(name: Any) -> None:
    with pytest.raises(ModelBusy):
        id_in(json.dumps({"id": name, "status": "starting"}).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3)
)


@given(st.sampled_from(["starting", "processing", "succeeded", "failed", "canceled", "aborted"]), JSON, JSON)
def test_whatever_comes_with_a_status_is_one_of_four_outcomes(status: str, output: Any, error: Any) -> None:
    assert isinstance(said(status, output=output, error=error), Waiting | Working | Made | NotMade)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps({"id": value, "status": value}).encode()))
def test_any_bytes_are_a_prediction_or_say_nothing(body: bytes) -> None:
    with pytest.raises(ModelBusy):
        read(body)
