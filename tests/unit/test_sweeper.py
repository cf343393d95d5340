"""The sweeper's list of duties: each has its turn, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from threading import Barrier
from typing import NoReturn

from isolane.deadline import Deadline
from isolane.errors import Unavailable
from isolane.sweep import Duty, Sweeper
from tests.world import Clock


def unavailable(*_: object) -> NoReturn:
    raise Unavailable


def sweep(*duties: Duty, left_s: float = 60, at_once: int = 1) -> None:
    Sweeper(duties, at_once=at_once).sweep(deadline=Deadline.after(left_s))


def test_a_duty_whose_due_cannot_be_found_keeps_no_other_from_its_turn() -> None:
    done: list[int] = []
    sweep(
        Duty(name="lost", due=unavailable, perform=lambda item, _: done.append(item)),
        Duty(name="found", due=lambda: [1, 2], perform=lambda item, _: done.append(item)),
    )
    assert done == [1, 2]


def test_one_that_cannot_be_done_keeps_no_other_from_its_turn() -> None:
    done: list[int] = []

    def perform(item: int, _: Deadline) -> None:
        if item == 2:
            unavailable()
        done.append(item)

    sweep(Duty(name="some", due=lambda: [1, 2, 3], perform=perform))
    assert done == [1, 3]


def test_nothing_is_begun_without_time() -> None:
    asked: list[int] = []

    def due() -> Iterator[int]:
        for number in range(3):
            asked.append(number)
            yield number

    sweep(Duty(name="late", due=due, perform=unavailable), left_s=4)
    assert asked == [], "nor is it looked for"


def test_things_that_wait_are_done_side_by_side() -> None:
    together = Barrier(2, timeout=5)
    sweep(Duty(name="slow", due=lambda: [1, 2, 3, 4], perform=lambda *_: together.wait()), at_once=2)
    assert not together.broken


def test_a_duty_without_end_leaves_the_others_their_share_of_the_time() -> None:
    clock, done = Clock(), list[str]()

    def perform(item: str, _: Deadline) -> None:
        done.append(item)
        clock.advance(4)

    endless = Duty(name="endless", due=lambda: repeat("endless"), perform=perform)
    other = Duty(name="other", due=lambda: ["other"], perform=perform)
    Sweeper([endless, other]).sweep(deadline=Deadline.after(30, clock=clock))
    assert done == ["endless", "endless", "endless", "other"]
