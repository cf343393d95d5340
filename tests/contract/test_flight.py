"""Single flight on every backend: one makes the value, the others wait, and nobody waits for the dead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from isolane.flight import Airborne, Flight, Flights, Landed
from isolane.semaphore import SKEW_MS
from tests.world import World

KEY = "score#a"
SKEW_S = SKEW_MS / 1000


@pytest.fixture
def flights(world: World) -> Flights:
    return Flights(world.values)


def board(flights: Flights, holder: str, *, key: str = KEY) -> Flight | Airborne | Landed:
    return flights.board(key, holder=holder, lease_s=30)


def mine(flights: Flights, holder: str) -> Flight:
    flight = board(flights, holder)
    assert isinstance(flight, Flight)
    return flight


def test_the_first_makes_the_value_and_the_others_find_it(world: World, flights: Flights) -> None:
    flight = mine(flights, "a")
    assert board(flights, "b") == Airborne()
    flights.land(flight, {"score": 7}, ttl_s=60)
    assert board(flights, "b") == Landed(value={"score": 7})
    assert world.values.get(KEY) == {"score": 7}


def test_a_flight_is_no_value_to_anybody_who_reads(world: World, flights: Flights) -> None:
    mine(flights, "a")
    assert world.values.get(KEY) is None
    assert world.values.get_many([KEY, "score#b"]) == {}


def test_a_lost_answer_is_recognised(flights: Flights) -> None:
    assert mine(flights, "a") == mine(flights, "a")


def test_a_flight_that_is_given_up_is_anothers_at_once(flights: Flights) -> None:
    flights.give_up(mine(flights, "a"))
    mine(flights, "b")


def test_the_dead_are_waited_for_until_their_lease_has_lapsed_by_any_clock(world: World, flights: Flights) -> None:
    mine(flights, "a")
    world.clock.advance(30 + SKEW_S - 0.01)
    assert board(flights, "b") == Airborne()
    world.clock.advance(0.01)
    mine(flights, "b")


def test_who_outlived_its_lease_takes_nothing_from_the_next(world: World, flights: Flights) -> None:
    late = mine(flights, "a")
    world.clock.advance(30 + SKEW_S)
    mine(flights, "b")
    flights.give_up(late)
    assert board(flights, "c") == Airborne()


def test_giving_up_late_deletes_no_value(world: World, flights: Flights) -> None:
    late = mine(flights, "a")
    world.clock.advance(30 + SKEW_S)
    flights.land(mine(flights, "b"), 7, ttl_s=60)
    flights.give_up(late)
    assert world.values.get(KEY) == 7


def test_an_expired_value_is_made_anew(world: World, flights: Flights) -> None:
    flights.land(mine(flights, "a"), 7, ttl_s=60)
    world.clock.advance(59)
    assert board(flights, "b") == Landed(value=7)
    world.clock.advance(1)
    mine(flights, "b")


def test_a_block_that_does_not_land_gives_the_flight_up(world: World, flights: Flights) -> None:
    with flights.boarded(KEY, lease_s=30) as found:
        assert isinstance(found, Flight)
    with flights.boarded(KEY, lease_s=30) as found:
        assert isinstance(found, Flight)
        with flights.boarded(KEY, lease_s=30) as other:
            assert other == Airborne()
        flights.land(found, 7, ttl_s=60)
    assert world.values.get(KEY) == 7


def test_the_row_of_a_flight_expires_after_its_lease(world: World, flights: Flights) -> None:
    flight = mine(flights, "a")
    row = world.values.table.get({"key": KEY})
    assert row is not None
    assert flight.until_ms / 1000 < row["expires_at"] < 10**10


def test_of_twenty_who_board_at_once_one_flies(flights: Flights, atomic: None) -> None:
    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(lambda number: board(flights, f"holder-{number}"), range(20)))
    assert sum(isinstance(each, Flight) for each in found) == 1
    assert sum(each == Airborne() for each in found) == 19
