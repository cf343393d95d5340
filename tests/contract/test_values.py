"""Values with a time to live, on every backend."""

from __future__ import annotations

import pytest

from isolane.errors import InvalidRequest
from isolane.kv import content_key
from tests.world import World


def test_a_value_is_there_until_its_time_is_over(world: World) -> None:
    world.values.put("k", {"score": 71, "ratio": 0.1, "none": None}, ttl_s=60)
    world.clock.advance(59)
    assert world.values.get("k") == {"score": 71, "ratio": 0.1, "none": None}
    world.clock.advance(1)
    assert world.values.get("k") is None


def test_what_nobody_stored_is_not_there(world: World) -> None:
    assert world.values.get("nobody") is None


def test_a_stored_false_is_a_value(world: World) -> None:
    world.values.put("k", value=False, ttl_s=60)
    assert world.values.get("k") is False


def test_the_expiry_in_the_table_is_ten_digits(world: World) -> None:
    world.values.put("k", 1, ttl_s=60)
    table = world.values.table
    raw = table.client.get_item(TableName=table.name, Key={"key": {"S": "k"}})["Item"]
    assert raw["expires_at"] == {"N": str(int(world.clock.now_s) + 60)}


def test_parts_of_a_content_key_do_not_run_together() -> None:
    assert content_key("k", "ab", "c") != content_key("k", "a", "bc")
    assert content_key("k", "e\u0301") == content_key("k", "\u00e9")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e126, 10**39 + 1])
def test_what_a_table_cannot_hold_is_refused(world: World, number: float) -> None:
    with pytest.raises(InvalidRequest):
        world.state.put({"pk": "a", "sk": "b", "number": number})


def test_reserved_words_and_odd_values_come_back_as_they_went_in(world: World) -> None:
    item = {
        "pk": "a",
        "sk": "b",
        "status": "",
        "name": b"\x00",
        "ttl": 0.1 + 0.2,
        "year": {"state": [1, 2.5, None, True]},
        "key": {"x", "y"},
    }
    world.state.put({**item, "size": set()})
    assert world.state.get({"pk": "a", "sk": "b"}) == item
    changed = world.state.update(
        {"pk": "a", "sk": "b"},
        "SET #status = :s, #name = :n REMOVE #year",
        when="attribute_exists(#key) AND #ttl > :zero",
        values={"s": "x", "n": 30.40, "zero": 0},
    )
    assert changed == {"pk": "a", "sk": "b", "status": "x", "name": 30.4, "ttl": 0.1 + 0.2, "key": {"x", "y"}}
