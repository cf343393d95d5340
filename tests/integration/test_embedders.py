"""Embedders against an endpoint that behaves and misbehaves: one result for each text, and every request counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from embeddings.embedders import Embedder, TextRejected, build
from embeddings.gate import Gate
from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.model_errors import ModelBusy, ModelError, ModelNotAsked, ModelRejected, ReplyUnreadable
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.world import settings

KEY = "sk-0123456789"
MODEL = "openai:test-embedding"
TEXTS = [f"Text {number} about rivers." for number in range(10)]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.play(steps.embeddings())
        yield running


def bare(app: Bindings) -> Embedder:
    """The embedder without what stands before it."""
    gate = build(app)
    assert isinstance(gate, Gate)
    return gate.embedder


def openai(server: ModelServer, *, timeout_s: float = 10) -> Embedder:
    return bare(
        Bindings(
            settings(
                EMBEDDER=MODEL,
                OPENAI_BASE_URL=server.base_url,
                OPENAI_API_KEY=KEY,
                MODEL_TIMEOUT_SECONDS=str(timeout_s),
            ),
            make_client=lambda _: object(),
        )
    )


def titan(server: ModelServer, *, timeout_s: float = 10) -> Embedder:
    model = "bedrock:amazon.titan-embed-text-v2:0"
    changes = {"AWS_ENDPOINT_URL": server.url, "EMBEDDER": model, "MODEL_TIMEOUT_SECONDS": str(timeout_s)}
    return bare(Bindings(settings(**changes)))


def embed(embedder: Embedder, texts: list[str], *, within_s: float = 30) -> list[Any]:
    found = embedder.embed(texts, deadline=Deadline.after(within_s))
    assert len(found) == len(texts)
    return found


def kinds(found: list[Any]) -> list[type]:
    """What is wrong with each, `list` standing for nothing."""
    return [type(each) if isinstance(each, ModelError) else list for each in found]


def test_ten_texts_are_one_request_and_each_gets_its_own_vector(server: ModelServer) -> None:
    together = embed(openai(server), TEXTS)
    assert len(server.requests) == 1
    assert together == [embed(openai(server), [text])[0] for text in TEXTS]
    request = server.requests[0]
    assert (request.path, request.headers["authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert request.json == {
        "model": "test-embedding",
        "input": TEXTS,
        "encoding_format": "float",
        "dimensions": 256,
    }


def test_a_text_that_is_not_accepted_is_found_among_ten_and_fails_alone(server: ModelServer) -> None:
    server.play(steps.embeddings(refuses="Text 6"))
    found = embed(openai(server), TEXTS)
    assert kinds(found) == [list] * 6 + [TextRejected] + [list] * 3
    assert len(server.requests) <= 2 * 4 + 1, "two for each halving of ten"


def test_where_none_is_accepted_each_is_asked_for_once_alone(server: ModelServer) -> None:
    server.play(steps.embeddings(refuses="Text"))
    assert kinds(embed(openai(server), TEXTS)) == [TextRejected] * 10
    assert len(server.requests) == 19


def test_a_vector_that_is_bad_is_its_texts_alone(server: ModelServer) -> None:
    server.play(steps.embeddings(bad={"Text 6": [1.0] * 255, "Text 7": None}))
    found = embed(openai(server), TEXTS)
    assert kinds(found) == [list] * 6 + [ReplyUnreadable] * 2 + [list] * 2
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (steps.failure(429, "ThrottlingException"), ModelBusy),
        (steps.failure(401, "invalid_api_key", message=KEY), ModelRejected),
        (steps.silent(), ModelBusy),
        (steps.reset(), ModelBusy),
        (steps.slow_body(every_s=0.05), ModelBusy),
    ],
    ids=lambda each: each["kind"] if isinstance(each, dict) else each.__name__,
)
@pytest.mark.parametrize("make", [openai, titan])
def test_what_goes_wrong_with_the_request_goes_wrong_for_all(
    server: ModelServer, make: Any, step: Any, kind: type[ModelError]
) -> None:
    server.play(step)
    found = embed(make(server, timeout_s=1), ["one", "two"])
    assert all(isinstance(each, kind) for each in found)
    assert KEY not in str(found)


def test_no_time_left_is_no_request(server: ModelServer) -> None:
    assert kinds(embed(openai(server), TEXTS, within_s=0)) == [ModelNotAsked] * 10
    assert kinds(embed(titan(server), TEXTS, within_s=0)) == [ModelNotAsked] * 10
    assert server.requests == []


def test_titan_is_asked_for_one_text_after_another(server: ModelServer) -> None:
    found = embed(titan(server), TEXTS[:3])
    assert kinds(found) == [list] * 3
    assert [request.json for request in server.requests] == [
        {"inputText": text, "normalize": True, "dimensions": 256} for text in TEXTS[:3]
    ]
    assert server.max_concurrency == 1
    assert "amazon.titan-embed-text-v2" in server.requests[0].path


def test_titan_refuses_one_text_and_embeds_the_others(server: ModelServer) -> None:
    server.play(steps.embeddings(bad={"Text 1": [0.0] * 256}))
    assert kinds(embed(titan(server), TEXTS[:3])) == [list, ReplyUnreadable, list]


def test_titan_that_is_busy_is_not_asked_for_the_rest(server: ModelServer) -> None:
    server.play(steps.failure(429, "ThrottlingException"))
    assert kinds(embed(titan(server), TEXTS)) == [ModelBusy] + [ModelNotAsked] * 9
    assert len(server.requests) == 1
