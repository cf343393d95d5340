"""Vectors by owner: added, found, merged; whatever is merged at the same time, none is lost and none is doubled."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from embeddings import ngrams
from isolane.blocks import BLOCK, Entry, from_row
from isolane.compactions import Compactions
from isolane.errors import Conflict, Contended
from isolane.permits import Permits
from isolane.similarity import Vector, unit
from isolane.vectors import MOST_DOCUMENTS, Vectors
from tests.world import World

MODEL = "openai:double"


def vector(text: str) -> Vector:
    found = unit(ngrams.embed(text))
    assert found is not None
    return found


def entry(name: str, *, at_ms: int = 1, text: str | None = None) -> Entry:
    return Entry(document_id=name, version=(at_ms, "batch"), vector=vector(text or name))


@pytest.fixture
def vectors(world: World) -> Vectors:
    return Vectors(world.state)


@pytest.fixture
def compactions(world: World, vectors: Vectors) -> Compactions:
    return Compactions(table=world.state, vectors=vectors, permits=Permits(world.state, world.clock))


def add(vectors: Vectors, *names: str, at_ms: int = 1, owner: str = "ann", model: str = MODEL) -> None:
    places = [(f"batch-{at_ms}", hash(name) % 1_000_000) for name in names]
    vectors.add(owner, [entry(name, at_ms=at_ms) for name in names], model=model, places=places)


def found(vectors: Vectors, text: str, *, limit: int = 100, owner: str = "ann", model: str = MODEL) -> list[str]:
    return [match.document_id for match in vectors.nearest(owner, vector(text), model=model, limit=limit)]


def blocks(world: World, owner: str = "ann") -> list[list[str]]:
    values = {"pk": f"vectors#{owner}", "block": BLOCK}
    rows = world.state.query("#pk = :pk AND begins_with(#sk, :block)", values=values, limit=100).items
    return [[each.document_id for each in from_row(row).entries] for row in rows]


def test_the_nearest_is_first_and_no_more_come_than_were_asked_for(vectors: Vectors) -> None:
    add(vectors, "red apples", "green apples", "a lorry")
    assert found(vectors, "green apples", limit=2) == ["green apples", "red apples"]


def test_nobody_finds_what_is_anothers_or_was_made_by_another_model(vectors: Vectors) -> None:
    add(vectors, "mine")
    add(vectors, "theirs", owner="bob")
    add(vectors, "older", model="another")
    assert found(vectors, "mine") == ["mine"]
    assert vectors.any_of("ann")
    assert not vectors.any_of("nobody")


def test_merging_leaves_fewer_rows_and_the_same_documents(world: World, vectors: Vectors) -> None:
    for number in range(8):
        add(vectors, f"document {number}", "replaced each time", at_ms=number + 1)
    before = found(vectors, "document 3")
    assert vectors.compact("ann") == 7
    assert found(vectors, "document 3") == before
    assert [len(block) for block in blocks(world)] == [9]
    assert vectors.compact("ann") == 0


def test_a_redelivery_after_merging_is_found_once(world: World, vectors: Vectors) -> None:
    add(vectors, "one")
    add(vectors, "two")
    vectors.compact("ann")
    add(vectors, "one")
    assert sorted(found(vectors, "one")) == ["one", "two"]
    vectors.compact("ann")
    assert sorted(found(vectors, "one")) == ["one", "two"]
    assert [sorted(block) for block in blocks(world)] == [["one", "two"]]


def test_a_document_of_an_older_model_goes_where_a_newer_one_has_it(world: World, vectors: Vectors) -> None:
    add(vectors, "one", model="another")
    add(vectors, "one", at_ms=2)
    vectors.compact("ann")
    assert blocks(world) == [["one"]]
    assert found(vectors, "one") == ["one"]


def test_a_merge_that_was_decided_on_what_is_merged_already_does_nothing(
    world: World, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two compactors of one owner, as where the first one's lease has lapsed: the second decides on an old view."""
    add(vectors, "one")
    add(vectors, "two")
    read = Vectors._blocks

    def overtaken(self: Vectors, owner: str) -> Any:
        there = list(read(self, owner))
        monkeypatch.undo()
        assert self.compact(owner) == 1
        add(self, "three")
        return there

    monkeypatch.setattr(Vectors, "_blocks", overtaken)
    with pytest.raises(Contended):
        vectors.compact("ann")
    assert sorted(found(vectors, "one")) == ["one", "three", "two"]
    assert sorted(map(sorted, blocks(world))) == [["one", "two"], ["three"]]


def test_a_search_that_meets_a_merge_begins_anew(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    add(vectors, "one")
    add(vectors, "two")
    read = Vectors._blocks

    def half(self: Vectors, owner: str) -> Any:
        there = list(read(self, owner))[:1]
        monkeypatch.undo()
        self.compact(owner)
        return there

    monkeypatch.setattr(Vectors, "_blocks", half)
    assert sorted(found(vectors, "one")) == ["one", "two"]


@pytest.mark.usefixtures("atomic")
def test_writers_compactors_and_searches_at_once_lose_nothing(world: World, vectors: Vectors) -> None:
    """Each writer then finds what it has written, whatever is merged meanwhile."""
    missing: list[str] = []
    done = threading.Event()

    def write(writer: int) -> None:
        for number in range(12):
            name = f"{writer} {number}"
            add(vectors, name)
            if name not in patiently(functools.partial(found, vectors, name)):
                missing.append(name)

    def compact() -> None:
        while not done.wait(0.01):
            try:
                vectors.compact("ann")
            except Contended:
                continue

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    compactors = [threading.Thread(target=compact) for _ in range(2)]
    for thread in (*writers, *compactors):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in compactors:
        thread.join()
    assert missing == []
    assert sorted(found(vectors, "1 1")) == sorted(f"{writer} {number}" for writer in range(3) for number in range(12))


def patiently(search: Callable[[], list[str]]) -> list[str]:
    """As a caller who is told to come again does."""
    for _ in range(50):
        try:
            return search()
        except Contended:
            time.sleep(0.02)
    raise Contended


def test_what_was_asked_for_is_merged_once(world: World, vectors: Vectors, compactions: Compactions) -> None:
    add(vectors, "one")
    add(vectors, "two")
    for _ in range(2):
        compactions.ask("ann")
    assert [compactions.perform(request) for request in compactions.asked()] == [1]
    assert list(compactions.asked()) == []


def test_what_is_asked_for_while_it_is_done_is_done_again(compactions: Compactions) -> None:
    compactions.ask("ann")
    (request,) = compactions.asked()
    compactions.ask("ann")
    compactions.perform(request)
    assert len(list(compactions.asked())) == 1


def test_one_at_a_time_merges_for_one_owner(world: World, compactions: Compactions) -> None:
    compactions.ask("ann")
    (request,) = compactions.asked()
    other = compactions.permits.acquire("compaction#ann#at-most-1", holder="other", lease_s=30, limit=1)
    assert other is not None
    with pytest.raises(Contended):
        compactions.perform(request)
    compactions.permits.release(other)
    compactions.perform(request)


def test_more_documents_than_can_be_searched_are_refused(vectors: Vectors) -> None:
    one = vector("one")
    for start in range(0, MOST_DOCUMENTS + 1, 250):
        many = [
            Entry(document_id=str(number), version=(1, "b"), vector=one[:4])
            for number in range(start, min(start + 250, MOST_DOCUMENTS + 1))
        ]
        vectors.add("ann", many, model=MODEL, places=[("b", start)])
    with pytest.raises(Conflict) as refused:
        vectors.nearest("ann", one[:4], model=MODEL, limit=1)
    assert refused.value.code == "too_many_documents"
