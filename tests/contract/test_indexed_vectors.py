"""Vectors in Amazon S3 Vectors: written and read on moto; its search, which moto lacks, against recorded requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber
from moto import mock_aws

from isolane.aws.vector_index import VectorIndex
from isolane.blocks import Entry
from isolane.errors import Unavailable
from isolane.indexed_vectors import IndexedVectors
from isolane.permits import Permits
from isolane.similarity import Vector, unit
from tests.environment import clients
from tests.world import World

MODEL = "openai:double"


def vector(*numbers: float) -> Vector:
    found = unit(numbers)
    assert found is not None
    return found


def entry(name: str, *numbers: float, at_ms: int = 1, batch: str = "b") -> Entry:
    return Entry(document_id=name, version=(at_ms, batch), vector=vector(*numbers))


@pytest.fixture
def vectors() -> Iterator[IndexedVectors]:
    with mock_aws():
        s3vectors: Any = clients.session().client("s3vectors", config=clients.CONFIG)
        s3vectors.create_vector_bucket(vectorBucketName="documents")
        place = {"vectorBucketName": "documents", "indexName": "all"}
        s3vectors.create_index(**place, dataType="float32", dimension=2, distanceMetric="cosine")
        arn = s3vectors.get_index(**place)["index"]["indexArn"]
        dynamodb = clients.session().client("dynamodb", config=clients.CONFIG)
        world = World(lambda _: dynamodb)
        world.make_tables()
        yield IndexedVectors(index=VectorIndex(s3vectors, arn), permits=Permits(world.state))


def stored(vectors: IndexedVectors) -> dict[tuple[str, str], tuple[int, list[float]]]:
    found = vectors.index.client.list_vectors(indexArn=vectors.index.arn, returnData=True, returnMetadata=True)
    return {
        (it["metadata"]["owner"], it["metadata"]["id"]): (it["metadata"]["at_ms"], it["data"]["float32"])
        for it in found["vectors"]
    }


def add(vectors: IndexedVectors, *entries: Entry, owner: str = "ann") -> None:
    vectors.add(owner, entries, model=MODEL, places=[])


def test_a_vector_lies_under_its_owner_and_document(vectors: IndexedVectors) -> None:
    add(vectors, entry("one", 1, 0), entry("two", 0, 1))
    add(vectors, entry("one", 0, 1), owner="bob")
    assert stored(vectors) == {
        ("ann", "one"): (1, [1.0, 0.0]),
        ("ann", "two"): (1, [0.0, 1.0]),
        ("bob", "one"): (1, [0.0, 1.0]),
    }


def test_the_newer_version_stays_whichever_comes_first(vectors: IndexedVectors) -> None:
    add(vectors, entry("one", 1, 0, at_ms=2))
    add(vectors, entry("one", 0, 1, at_ms=1))
    assert stored(vectors)["ann", "one"] == (2, [1.0, 0.0])
    add(vectors, entry("one", 0, 1, at_ms=3))
    assert stored(vectors)["ann", "one"] == (3, [0.0, 1.0])


def test_of_two_versions_at_once_the_newer_is_written(vectors: IndexedVectors) -> None:
    add(vectors, entry("one", 1, 0, batch="c"), entry("one", 0, 1, batch="b"))
    assert stored(vectors)["ann", "one"] == (1, [1.0, 0.0])


def test_twice_is_once(vectors: IndexedVectors) -> None:
    for _ in range(2):
        add(vectors, entry("one", 1, 0))
    assert len(stored(vectors)) == 1


def test_a_search_is_one_request_for_the_owners_vectors_of_the_model(vectors: IndexedVectors) -> None:
    """The request as AWS's own model of the service allows it, and an answer in the form that it describes."""
    expected = {
        "indexArn": vectors.index.arn,
        "queryVector": {"float32": [1.0, 0.0]},
        "topK": 2,
        "filter": {"$and": [{"owner": {"$eq": "ann"}}, {"model": {"$eq": MODEL}}]},
        "returnMetadata": True,
        "returnDistance": True,
    }
    answer = {
        "vectors": [
            {"key": "k1", "distance": 0.0, "metadata": {"id": "one", "owner": "ann"}},
            {"key": "k2", "distance": 0.25, "metadata": {"id": "two", "owner": "ann"}},
        ],
        "distanceMetric": "cosine",
    }
    with Stubber(vectors.index.client) as recorded:
        recorded.add_response("query_vectors", answer, expected)
        found = vectors.nearest("ann", vector(1, 0), model=MODEL, limit=2)
        recorded.assert_no_pending_responses()
    assert [(match.document_id, match.similarity) for match in found] == [("one", 1.0), ("two", 0.75)]


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ServiceUnavailableException"])
def test_a_search_that_is_refused_for_now_says_so(vectors: IndexedVectors, code: str) -> None:
    with Stubber(vectors.index.client) as recorded:
        recorded.add_client_error("query_vectors", code, http_status_code=429 if code.startswith("Too") else 503)
        with pytest.raises(Unavailable):
            vectors.nearest("ann", vector(1, 0), model=MODEL, limit=2)
