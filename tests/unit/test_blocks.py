"""Blocks of vectors: what is packed comes back, the newest counts, and merging loses nothing and comes to an end."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.blocks import Block, Entry, from_row, key_of, live, merges, newest, to_row
from isolane.similarity import packed, similarity, unit, unpacked


def entry(name: str, *, at_ms: int = 1, batch: str = "b", size: int = 4) -> Entry:
    vector = unit([1.0 + at_ms, *range(size - 1)])
    assert vector is not None
    return Entry(document_id=name, version=(at_ms, batch), vector=vector)


def block(key: str, *entries: Entry, model: str = "m") -> Block:
    return Block(key=key, model=model, entries=entries)


def of_use(blocks: list[Block]) -> dict[str, tuple[int, str]]:
    among = newest(blocks)
    return {each.document_id: each.version for it in blocks for each in live(it, among=among)}


def merged(blocks: list[Block], *, full_bytes: int) -> list[Block]:
    plan = merges(blocks, full_bytes=full_bytes)
    gone = {key for merge in plan for key in merge.sources}
    new = [
        Block(key=f"block#merged{number}", model=merge.model, entries=merge.entries)
        for number, merge in enumerate(plan)
        if merge.entries
    ]
    return [it for it in blocks if it.key not in gone] + new


def test_a_block_comes_back_from_its_row_as_it_was() -> None:
    there = block("block#a", entry("one"), entry("zwei: ü, \U0001f600", at_ms=2**41))
    assert from_row(to_row(there)) == there


def test_the_key_depends_on_the_documents_and_not_on_their_order() -> None:
    places = [("a", 1), ("a", 0), ("b", 0)]
    assert key_of(places, dimension=4) == key_of([*reversed(places), ("a", 1)], dimension=4)
    assert key_of(places, dimension=4) != key_of(places[1:], dimension=4)


def test_of_two_versions_the_newer_is_of_use_and_of_two_copies_one() -> None:
    blocks = [
        block("block#a", entry("one"), entry("two")),
        block("block#b", entry("one", at_ms=2)),
        block("block#c", entry("two")),
    ]
    assert of_use(blocks) == {"one": (2, "b"), "two": (1, "b")}
    assert sum(len(list(live(it, among=newest(blocks)))) for it in blocks) == 2


def test_blocks_of_two_models_or_dimensions_are_not_merged_together() -> None:
    blocks = [
        block("block#a", entry("one")),
        block("block#b", entry("two"), model="n"),
        block("block#c", entry("x", size=8)),
    ]
    assert merges(blocks) == []


def test_a_block_in_which_nothing_is_of_use_is_removed() -> None:
    (merge,) = merges([block("block#a", entry("one")), block("block#b", entry("one", at_ms=2), model="n")])
    assert (merge.sources, merge.entries) == (("block#a",), ())


names = st.text("abcdef", min_size=1, max_size=1)
entries = st.builds(entry, names, at_ms=st.integers(1, 3), batch=st.text("xy", min_size=1, max_size=1))
heaps = st.lists(st.lists(entries, min_size=1, max_size=4), max_size=12).map(
    lambda found: [block(f"block#{number:02}", *each) for number, each in enumerate(found)]
)


@given(heaps, st.integers(60, 400))
def test_merging_changes_nothing_of_what_is_of_use(blocks: list[Block], full_bytes: int) -> None:
    assert of_use(merged(blocks, full_bytes=full_bytes)) == of_use(blocks)


@given(heaps, st.integers(60, 400))
def test_merging_comes_to_an_end(blocks: list[Block], full_bytes: int) -> None:
    for _ in range(12):
        fewer = merged(blocks, full_bytes=full_bytes)
        if len(fewer) == len(blocks):
            return
        assert len(fewer) < len(blocks)
        blocks = [Block(key=f"block#{n:02}", model=it.model, entries=it.entries) for n, it in enumerate(fewer)]
    raise AssertionError("there is always something to merge")


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=9))
def test_a_vector_has_length_one_or_is_none(values: list[float]) -> None:
    vector = unit(values)
    if vector is not None:
        assert similarity(vector, vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan")], [1.0, float("inf")], [1e200, 1e200]])
def test_what_has_no_direction_is_no_vector(values: list[float]) -> None:
    assert unit(values) is None


def test_numbers_are_packed_with_the_least_significant_byte_first() -> None:
    assert packed([array("f", [1.0])]) == b"\x00\x00\x80\x3f"
    assert list(unpacked(b"\x00\x00\x80\x3f\x00\x00\x00\x40", dimension=1)) == [array("f", [1.0]), array("f", [2.0])]
