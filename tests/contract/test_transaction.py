"""Several writes that go together or not at all, on every backend."""

from __future__ import annotations

import pytest

from isolane.aws.table import Table
from isolane.aws.transaction import Check, Delete, Put, Update, transact
from isolane.errors import TransactionRefused
from tests.world import World

ONE, TWO = {"pk": "a", "sk": "one"}, {"pk": "a", "sk": "two"}
ABSENT, THERE = "attribute_not_exists(#pk)", "attribute_exists(#pk)"


def put(table: Table, key: dict[str, str], **fields: int) -> Put:
    return Put(table, {**key, **fields}, when=ABSENT)


def test_all_of_them_happen_in_several_tables_too(world: World) -> None:
    world.state.put({**TWO, "n": 1})
    transact(
        [
            put(world.state, ONE, n=1),
            Update(world.state, TWO, "SET #n = #n + :more", when="#n = :seen", values={"more": 2, "seen": 1}),
            Put(world.values.table, {"key": "k", "n": 1}),
        ]
    )
    assert world.state.get(ONE) == {**ONE, "n": 1}
    assert world.state.get(TWO) == {**TWO, "n": 3}
    assert world.values.table.get({"key": "k"}) == {"key": "k", "n": 1}


def test_where_one_is_refused_none_happens_and_what_was_found_is_told(world: World) -> None:
    world.state.put({**TWO, "n": 1, "name": "two"})
    with pytest.raises(TransactionRefused) as refused:
        transact([put(world.state, ONE, n=1), Update(world.state, TWO, "SET #n = :n", when="#n > :n", values={"n": 7})])
    first, second = refused.value.refusals
    assert first is None
    assert second is not None
    assert second.found == {**TWO, "n": 1, "name": "two"}
    assert world.state.get(ONE) is None


def test_the_first_refusal_is_always_told_and_a_row_that_is_missing_is_told_as_none(world: World) -> None:
    world.state.put({**ONE, "n": 1})
    with pytest.raises(TransactionRefused) as refused:
        transact([put(world.state, ONE), Check(world.state, TWO, when=THERE)])
    assert refused.value.refusals[0] is not None
    assert refused.value.refusals[0].found == {**ONE, "n": 1}
    with pytest.raises(TransactionRefused) as refused:
        transact([Check(world.state, TWO, when=THERE), Put(world.state, {**ONE, "n": 2})])
    assert refused.value.refusals[0] is not None
    assert refused.value.refusals[0].found is None
    assert world.state.get(ONE) == {**ONE, "n": 1}


def test_a_row_can_be_removed_or_only_looked_at(world: World) -> None:
    for key in (ONE, TWO):
        world.state.put({**key, "n": 1})
    transact(
        [
            Delete(world.state, ONE, when="#n = :n", values={"n": 1}),
            Check(world.state, TWO, when="#n = :n", values={"n": 1}),
        ]
    )
    assert world.state.get(ONE) is None
    assert world.state.get(TWO) == {**TWO, "n": 1}
