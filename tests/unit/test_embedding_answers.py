"""What an answer of an embedding endpoint means: a vector for each text, matched by its index, or one named failure."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from embeddings.embedders import TextRejected
from embeddings.fates import Deferred, Failed, Fate, GivenUp, TriedAgain, fate
from embeddings.openai_embedder import vectors_of
from isolane.documents import Document
from isolane.http import Reply
from isolane.model_errors import (
    InputTooLong,
    ModelBusy,
    ModelError,
    ModelNotAsked,
    ModelRefused,
    ModelRejected,
    ReplyUnreadable,
)
from isolane.task import Problem

NOW = datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC)
SECRET = "sk-0123456789"
X, Y = [1.0, 0.0], [0.0, 1.0]


def reply(status: int, body: Any = "", **headers: str) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=named, body=text.encode())


def data(*vectors: Any) -> Any:
    return {"data": [{"index": index, "embedding": vector} for index, vector in vectors]}


def read(answer: Reply, *, count: int = 2, dimensions: int = 2) -> list[Any]:
    return [
        found if isinstance(found, ModelError) else list(found)
        for found in vectors_of(answer, count=count, dimensions=dimensions, now=NOW)
    ]


def test_vectors_are_matched_by_index_and_not_by_order() -> None:
    assert read(reply(200, data((1, Y), (0, X)))) == [X, Y]


def test_a_vector_is_brought_to_length_one() -> None:
    assert read(reply(200, data((0, [3, 4]), (1, Y)))) == [[pytest.approx(0.6), pytest.approx(0.8)], Y]


@pytest.mark.parametrize(
    "bad",
    [[1.0], [1.0, 0.0, 0.0], [0.0, 0.0], [], None, "AAAA", [1.0, None], [1.0, "2"], [True, False], {"0": 1.0}],
    ids=repr,
)
def test_a_vector_that_is_none_leaves_its_neighbours_alone(bad: Any) -> None:
    found = read(reply(200, data((0, X), (1, bad))))
    assert found[0] == X
    assert isinstance(found[1], ReplyUnreadable)


UNREADABLE = {
    "one too few": data((0, X)),
    "one too many": data((0, X), (1, Y), (2, Y)),
    "an index twice": data((0, X), (0, Y)),
    "an index that nobody sent": data((0, X), (7, Y)),
    "an index that is none": data((0, X), ("1", Y)),
    "an index that is true": data((0, X), (True, Y)),
    "no index": {"data": [{"embedding": X}, {"embedding": Y}]},
    "no data": {"object": "list"},
    "data that is none": {"data": 7},
    "a list of lists": {"data": [X, Y]},
    "nothing": "",
    "a page": "<html>",
    "what is not finite": '{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [0, 1]}]}',
    "what becomes infinite": '{"data": [{"index": 0, "embedding": [1e999, 1]}, {"index": 1, "embedding": [0, 1]}]}',
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_an_answer_in_which_a_texts_vector_cannot_be_told_is_none(body: Any) -> None:
    with pytest.raises(ReplyUnreadable):
        read(reply(200, body))


def test_vectors_of_different_dimensions_are_none_where_any_would_do() -> None:
    assert len(read(reply(200, data((0, X), (1, Y))), dimensions=0)[0]) == 2
    with pytest.raises(ReplyUnreadable):
        read(reply(200, data((0, X), (1, [1.0]))), dimensions=0)


FAILS: dict[str, tuple[Reply, type[ModelError]]] = {
    "a text that is too long": (reply(400, {"error": {"message": "maximum context length is 8192"}}), InputTooLong),
    "a body that is too large": (reply(413), InputTooLong),
    "a text that is not accepted": (reply(400, {"error": {"message": f"Bad input: {SECRET}"}}), TextRejected),
    "an input that cannot be processed": (reply(422, {"detail": SECRET}), TextRejected),
    "a filter": (reply(400, {"error": {"code": "content_filter"}}), ModelRefused),
    "a wrong key": (reply(401, {"error": {"message": f"Incorrect key {SECRET}"}}), ModelRejected),
    "a wrong model": (reply(404, {"error": {"code": "model_not_found"}}), ModelRejected),
    "a used up quota": (reply(429, {"error": {"code": "insufficient_quota"}}), ModelRejected),
    "a rate limit": (reply(429, retry_after="7"), ModelBusy),
    "a server error": (reply(500), ModelBusy),
    "a gateway": (reply(502, "<html>"), ModelBusy),
}


@pytest.mark.parametrize(("answer", "kind"), FAILS.values(), ids=FAILS)
def test_each_failure_is_one_that_is_named_and_says_nothing_of_what_was_sent(
    answer: Reply, kind: type[ModelError]
) -> None:
    with pytest.raises(ModelError) as failed:
        read(answer)
    assert type(failed.value) is kind
    assert SECRET not in failed.value.message
    assert failed.value.requests == 1


def test_a_rate_limit_says_how_long() -> None:
    with pytest.raises(ModelBusy) as failed:
        read(FAILS["a rate limit"][0])
    assert failed.value.retry_after_s == 7


# What becomes of its document

FATES: list[tuple[ModelError, int, Fate]] = [
    (ModelNotAsked(retry_after_s=3), 4, Deferred(after_s=3)),
    (ModelNotAsked(), 1, Deferred(after_s=None)),
    (ModelBusy(retry_after_s=3, requests=1), 3, TriedAgain(after_s=3)),
    (ReplyUnreadable(requests=1), 1, TriedAgain(after_s=0)),
    (ModelBusy(requests=1), 4, GivenUp(reason="attempts_exhausted")),
    (ReplyUnreadable(requests=1), 4, GivenUp(reason="attempts_exhausted")),
    (ModelRejected("No."), 1, GivenUp(reason="model_rejected")),
    (TextRejected("No."), 1, Failed(problem=Problem(code="model_rejected", message="No."))),
    (InputTooLong("No."), 4, Failed(problem=Problem(code="model_input_too_long", message="No."))),
    (ModelRefused("No."), 1, Failed(problem=Problem(code="model_refused", message="No."))),
]


@pytest.mark.parametrize(("error", "attempt", "expected"), FATES)
def test_each_failure_has_one_end(error: ModelError, attempt: int, expected: Fate) -> None:
    document = Document(batch_id="b", index=0, owner="ann", document_id="d", text="t", at_ms=0, attempt=attempt)
    assert fate(document, error, max_attempts=4) == expected


def test_a_document_comes_back_from_its_message_as_it_was() -> None:
    there = Document(batch_id="b", index=3, owner="ann", document_id="ü", text="\U0001f600\n", at_ms=5, attempt=2)
    assert Document.from_body(json.loads(there.as_body())) == there
    assert math.inf not in there.version
