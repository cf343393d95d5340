"""What a table makes of expressions, on every backend."""

from __future__ import annotations

import pytest

from isolane.errors import ConditionFailed
from tests.world import World

KEY = {"pk": "a", "sk": "b"}


@pytest.mark.parametrize("entry", ["status", "a.b", "a[0]", "#who", ":one", "who", " ", "ä€🦀\n"])
def test_an_entry_of_a_map_may_be_called_anything(world: World, entry: str) -> None:
    world.state.put({**KEY, "leases": {"other": 1}})
    change, when = "SET #leases.#who = :one", "attribute_not_exists(#leases.#who)"
    row = world.state.update(KEY, change, when=when, values={"one": 1}, names={"who": entry})
    assert row["leases"] == {"other": 1, entry: 1}
    with pytest.raises(ConditionFailed):
        world.state.update(KEY, change, when=when, values={"one": 1}, names={"who": entry})


def test_a_name_that_is_not_used_is_not_sent(world: World) -> None:
    row = world.state.update(KEY, "SET #n = :one", values={"one": 1, "two": 2}, names={"unused": "u", "n": "year"})
    assert row == {**KEY, "year": 1}
