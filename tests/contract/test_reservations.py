"""Seats are reserved once, never twice, and never more than there are; on every backend."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from isolane.errors import Conflict, IdempotencyMismatch, InvalidRequest, NotFound
from isolane.reservations import Reservation, Reservations
from isolane.workshop import COUNTERS, Decision, Seats
from tests.world import World


def reserve(world: World, request_id: str, *, seats: int = 1, caller: str = "ann") -> Reservation:
    return world.reservations.reserve("python", request_id=request_id, seats=seats, caller=caller)


def cancel(world: World, request_id: str, *, owner: str | None = "ann") -> Reservation:
    return world.reservations.cancel("python", request_id=request_id, owner=owner)


def told(made: Reservation) -> tuple[str, int, bool]:
    return str(made.attempt.decision), made.seats.reserved, made.replayed


def counts(world: World, workshop: str = "python") -> tuple[int, int, int, int]:
    status = world.reservations.status(workshop)
    return status.seats.capacity, status.seats.reserved, status.accepted, status.rejected


def fill(world: World) -> None:
    reserve(world, "all-of-them", seats=4)


def test_a_workshop_that_nobody_has_touched_has_four_seats(world: World) -> None:
    assert counts(world) == (4, 0, 0, 0)
    assert told(reserve(world, "request-1", seats=4)) == ("accepted", 4, False)


def test_seats_are_reserved_all_or_none(world: World) -> None:
    assert told(reserve(world, "request-1", seats=3)) == ("accepted", 3, False)
    assert told(reserve(world, "request-2", seats=2)) == ("rejected", 3, False)
    assert told(reserve(world, "request-3", seats=1)) == ("accepted", 4, False)
    assert counts(world) == (4, 4, 2, 1)


def test_a_request_is_answered_with_its_first_decision_whatever_has_happened_since(world: World) -> None:
    reserve(world, "accepted", seats=3)
    reserve(world, "rejected", seats=4)
    assert told(reserve(world, "accepted", seats=3)) == ("accepted", 3, True)
    cancel(world, "accepted")
    assert told(reserve(world, "accepted", seats=3)) == ("accepted", 0, True)
    assert told(reserve(world, "rejected", seats=4)) == ("rejected", 0, True)
    assert counts(world) == (4, 0, 0, 1)


def test_anybody_who_uses_a_request_id_again_gets_its_decision(world: World) -> None:
    reserve(world, "request-1", caller="ann")
    assert told(reserve(world, "request-1", caller="bob")) == ("accepted", 1, True)
    with pytest.raises(NotFound):
        cancel(world, "request-1", owner="bob")


@pytest.mark.parametrize("filled", [False, True])
def test_a_request_id_with_other_seats_is_refused_and_changes_nothing(world: World, filled: bool) -> None:
    reserve(world, "request-1", seats=1)
    if filled:
        reserve(world, "request-2", seats=3)
    before = counts(world)
    with pytest.raises(IdempotencyMismatch) as refused:
        reserve(world, "request-1", seats=2)
    assert refused.value.code == "request_mismatch"
    assert counts(world) == before


def test_a_rejection_is_recorded_once_and_counted_once(world: World) -> None:
    fill(world)
    assert told(reserve(world, "request-1")) == ("rejected", 4, False)
    assert told(reserve(world, "request-1")) == ("rejected", 4, True)
    assert counts(world) == (4, 4, 1, 1)


def test_rejections_are_counted_on_several_rows(world: World) -> None:
    fill(world)
    for number in range(40):
        reserve(world, f"request-{number}")
    rows = world.state.query(
        "#pk = :pk AND begins_with(#sk, :sk)", values={"pk": "workshop#python", "sk": "rejected#"}, limit=100
    ).items
    assert len(rows) == COUNTERS
    assert counts(world) == (4, 4, 1, 40)


def test_canceling_gives_the_seats_back_once(world: World) -> None:
    reserve(world, "request-1", seats=3)
    assert cancel(world, "request-1").seats == Seats(capacity=4, reserved=0)
    assert cancel(world, "request-1").seats == Seats(capacity=4, reserved=0)
    reserve(world, "request-2", seats=4)
    assert cancel(world, "request-1").seats == Seats(capacity=4, reserved=4)
    assert counts(world) == (4, 4, 1, 0)


def test_only_who_reserved_or_an_admin_cancels(world: World) -> None:
    reserve(world, "request-1", caller="ann")
    with pytest.raises(NotFound) as refused:
        cancel(world, "request-1", owner="bob")
    assert refused.value.code == "reservation_not_found"
    assert cancel(world, "request-1", owner=None).seats.reserved == 0


def test_what_was_rejected_or_never_was_cannot_be_canceled(world: World) -> None:
    fill(world)
    reserve(world, "rejected")
    for request_id in ("rejected", "unknown"):
        with pytest.raises(NotFound):
            cancel(world, request_id)
    assert counts(world) == (4, 4, 1, 1)


def test_capacity_is_raised_and_lowered_to_what_is_reserved_and_no_further(world: World) -> None:
    workshops = world.reservations
    assert workshops.set_capacity("python", capacity=6) == Seats(capacity=6, reserved=0)
    reserve(world, "request-1", seats=4)
    assert workshops.set_capacity("python", capacity=4) == Seats(capacity=4, reserved=4)
    with pytest.raises(Conflict) as refused:
        workshops.set_capacity("python", capacity=3)
    assert refused.value.code == "capacity_in_use"
    assert told(reserve(world, "request-2")) == ("rejected", 4, False)
    assert workshops.set_capacity("python", capacity=5) == Seats(capacity=5, reserved=4)
    assert told(reserve(world, "request-3")) == ("accepted", 5, False)
    assert counts(world) == (5, 5, 2, 1)


def test_a_capacity_may_come_first_and_may_be_none(world: World) -> None:
    world.reservations.set_capacity("python", capacity=0)
    assert told(reserve(world, "request-1")) == ("rejected", 0, False)
    assert counts(world) == (0, 0, 0, 1)


def test_workshops_and_their_requests_are_apart(world: World) -> None:
    fill(world)
    other = world.reservations.reserve("rust", request_id="all-of-them", seats=1, caller="ann")
    assert told(other) == ("accepted", 1, False)
    assert counts(world, "rust") == (4, 1, 1, 0)


@pytest.mark.parametrize(
    ("workshop", "request_id", "seats", "code"),
    [
        ("Python", "request-1", 1, "invalid_workshop_name"),
        ("a#b", "request-1", 1, "invalid_workshop_name"),
        ("a" * 33, "request-1", 1, "invalid_workshop_name"),
        ("python\n", "request-1", 1, "invalid_workshop_name"),
        ("python", "r1", 1, "invalid_reservation"),
        ("python", "1-request", 1, "invalid_reservation"),
        ("python", "r" * 49, 1, "invalid_reservation"),
        ("python", "request-1", 0, "invalid_reservation"),
        ("python", "request-1", 5, "invalid_reservation"),
    ],
)
def test_what_makes_no_sense_is_refused(world: World, workshop: str, request_id: str, seats: int, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        world.reservations.reserve(workshop, request_id=request_id, seats=seats, caller="ann")
    assert refused.value.code == code


@pytest.mark.usefixtures("atomic")
def test_ten_at_once_for_four_seats_are_four_and_six(world: World) -> None:
    workshops = Reservations(world.state)  # with a real clock: these wait for each other

    def one(number: int) -> Reservation:
        return workshops.reserve("python", request_id=f"request-{number}", seats=1, caller="ann")

    with ThreadPoolExecutor(10) as threads:
        made = list(threads.map(one, range(10)))
    assert Counter(each.attempt.decision for each in made) == {Decision.ACCEPTED: 4, Decision.REJECTED: 6}
    assert all(each.seats.reserved <= 4 and not each.replayed for each in made)
    assert counts(world) == (4, 4, 4, 6)


@pytest.mark.usefixtures("atomic")
def test_one_request_sent_ten_times_at_once_is_decided_once(world: World) -> None:
    workshops = Reservations(world.state)
    with ThreadPoolExecutor(10) as threads:
        made = list(
            threads.map(lambda _: workshops.reserve("python", request_id="request-1", seats=2, caller="ann"), range(10))
        )
    assert Counter(each.replayed for each in made) == {False: 1, True: 9}
    assert {told(each)[:2] for each in made} == {("accepted", 2)}
    assert counts(world) == (4, 2, 1, 0)
