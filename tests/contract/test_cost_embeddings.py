"""What embedding costs in calls to AWS: the floor of the design, held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from embeddings.gate import Gate
from tests.application import Application
from tests.counting import Counted, counted, spent
from tests.doubles.scripted_embedder import ScriptedEmbedder
from tests.environment import clients
from tests.world import World, receive

PERMIT, BREAKER = ["UpdateItem"], ["GetItem"]
PACE = ["PutItem"]
"""Once in five seconds for each process."""
COMPACTION = ["PutItem"]
"""Once for each batch: its vectors are to be merged."""


@pytest.fixture
def app() -> Iterator[Application]:
    with mock_aws():
        made = {
            service: clients.session().client(service, config=clients.CONFIG) for service in ("dynamodb", "sqs", "s3")
        }
        world = World(made.__getitem__)
        world.make_tables()
        embedder = ScriptedEmbedder()
        bare = Application(world)
        bare.bindings.permits.set_limit(embedder.name, limit=5)
        gate = Gate(embedder, breaker=bare.bindings.breaker, permits=bare.bindings.permits, limit=5)
        yield Application(world, embedder=gate)


@pytest.fixture
def calls(app: Application) -> Iterator[Counted]:
    with counted(*map(app.world.client, ("dynamodb", "sqs", "s3"))) as counter:
        yield counter


def submit(app: Application, count: int, *, about: str = "rivers", headers: Any = None) -> None:
    posted = [{"id": f"{about}-{number}", "text": f"Text {number} about {about}."} for number in range(count)]
    answer = app.call("POST", "/api/embed/batch", body={"documents": posted}, headers=headers)
    assert answer["statusCode"] == 202


def test_handing_in_is_a_row_ten_documents_a_message_batch_and_the_end(app: Application, calls: Counted) -> None:
    pace = ["GetItem"]  # once in five seconds
    submit(app, 25)
    assert spent(calls) == [*pace, "PutItem", *["SendMessageBatch"] * 3, "UpdateItem"]


def test_ten_documents_of_one_batch(app: Application, calls: Counted) -> None:
    submit(app, 11)
    records = receive(app.embed_queue)
    spent(calls)
    app.embed(records)
    cache, vectors, progress = ["BatchGetItem"], ["PutItem"], ["UpdateItem"]
    assert spent(calls) == [*cache, *BREAKER, *PERMIT, *PERMIT, "BatchWriteItem", *PACE, *vectors, *progress]


def test_ten_documents_that_are_known_need_neither_breaker_nor_permit(app: Application, calls: Counted) -> None:
    submit(app, 10)
    app.embed(receive(app.embed_queue))
    submit(app, 10)
    records = receive(app.embed_queue)
    spent(calls)
    app.embed(records)
    assert spent(calls) == ["BatchGetItem", "PutItem", "UpdateItem", *COMPACTION]


def test_each_owner_is_one_block_and_each_batch_one_update(app: Application, calls: Counted) -> None:
    token = app.bindings.callers.issue("ann", roles=["user"])
    submit(app, 4)
    submit(app, 3, about="cats")
    submit(app, 3, headers={"Authorization": f"Bearer {token}"})
    records = receive(app.embed_queue)
    assert len(records) == 10
    spent(calls)
    app.embed(records)
    around = spent(calls)[6:]
    finished = ["UpdateItem", *COMPACTION]
    assert around == ["PutItem", *finished, "PutItem", *finished, *finished]


def test_a_question_about_a_batch_is_one(app: Application, calls: Counted) -> None:
    answer = app.call("POST", "/api/embed/batch", body={"documents": [{"id": "a", "text": "t"}]})
    spent(calls)
    assert app.call("GET", f"/api/embed/batches/{answer['json']['batchId']}")["statusCode"] == 200
    assert spent(calls) == ["GetItem"]


def test_a_search_reads_the_owners_vectors(app: Application, calls: Counted) -> None:
    submit(app, 10)
    app.embed(receive(app.embed_queue))
    search = {"text": "Text 3 about rivers."}
    spent(calls)
    app.call("POST", "/api/embed/search", body=search)
    any_there, cache, blocks = ["Query"], ["BatchGetItem"], ["GetItem", "Query", "GetItem"]
    assert spent(calls) == [*any_there, *cache, *blocks]
