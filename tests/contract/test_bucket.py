"""What lies in a bucket: found by how its key begins, and read no further than it may be large."""

from __future__ import annotations

import pytest

from isolane.aws.bucket import Bucket
from isolane.errors import ReplyTooLarge
from tests.world import World


@pytest.fixture
def bucket(whole_world: World) -> Bucket:
    return whole_world.make_bucket()


def put(bucket: Bucket, key: str, data: bytes = b"") -> None:
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=data)


def test_keys_are_found_by_how_they_begin_in_their_order(bucket: Bucket) -> None:
    for key in ("a/2", "a/1", "ab/1", "b"):
        put(bucket, key)
    assert bucket.keys("a/") == ["a/1", "a/2"]
    assert bucket.keys("c/") == []


def test_bytes_are_read_up_to_a_limit(bucket: Bucket) -> None:
    put(bucket, "one", b"x" * 1_000)
    assert bucket.find_bytes("one", max_bytes=1_000) == b"x" * 1_000
    with pytest.raises(ReplyTooLarge):
        bucket.find_bytes("one", max_bytes=999)


def test_bytes_that_are_not_there_are_none(bucket: Bucket) -> None:
    assert bucket.find_bytes("one", max_bytes=1_000) is None
