"""One after another and n at once, on every backend; that they exclude each other is proved in test_exclusion.py."""

from __future__ import annotations

import pytest

from isolane.at_most import at_most, serial
from isolane.errors import Contended
from isolane.permits import Permits
from tests.world import World


@pytest.fixture
def permits(world: World) -> Permits:
    return Permits(world.state, world.clock, world.clock.advance)


def test_who_finds_no_turn_in_time_is_told_so(permits: Permits, world: World) -> None:
    started_s = world.clock.now_s
    with serial(permits, "report"), pytest.raises(Contended), serial(permits, "report", wait_s=3):
        pytest.fail("two at once")
    assert world.clock.now_s - started_s == pytest.approx(3)


def test_n_have_their_turn_at_once(permits: Permits) -> None:
    with at_most(permits, 2, name="thumbnails"), at_most(permits, 2, name="thumbnails"):
        third = at_most(permits, 2, name="thumbnails", wait_s=1)
        with pytest.raises(Contended), third:
            pytest.fail("three at once")


def test_names_and_numbers_are_apart(permits: Permits) -> None:
    with at_most(permits, 3, name="a"), serial(permits, "a"), serial(permits, "b"):
        assert len(permits.holders("a#at-most-3")) == len(permits.holders("a#at-most-1")) == 1


def test_a_turn_ends_with_its_block_also_on_an_error(permits: Permits) -> None:
    with pytest.raises(ZeroDivisionError), serial(permits, "report"):
        raise ZeroDivisionError
    with serial(permits, "report", wait_s=0):
        pass


def test_a_turn_says_how_long_it_lasts(permits: Permits) -> None:
    with serial(permits, "report", lease_s=5) as held:
        assert 4 < held.deadline.left_s() <= 5


def test_a_decorated_function_takes_a_turn_each_time(permits: Permits) -> None:
    fences: list[int] = []

    @serial(permits, "report")
    def report(number: int) -> int:
        fences.extend(lease.fence for lease in permits.holders("report#at-most-1"))
        return number

    assert [report(1), report(2)] == [1, 2]
    assert fences == [1, 2]
    assert permits.holders("report#at-most-1") == []
