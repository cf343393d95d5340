"""The sweeper's list of duties: each has its turn, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from isolane.deadline import Deadline
from isolane.errors import Unavailable
from operations.sweeper import Duty, Sweeper


def unavailable(_: object = None) -> NoReturn:
    raise Unavailable


def sweep(*duties: Duty, left_s: float = 60) -> None:
    Sweeper(duties).sweep(deadline=Deadline.after(left_s))


def test_a_duty_whose_due_cannot_be_found_keeps_no_other_from_its_turn() -> None:
    done: list[int] = []
    sweep(
        Duty(name="lost", due=unavailable, perform=done.append),
        Duty(name="found", due=lambda: [1, 2], perform=done.append),
    )
    assert done == [1, 2]


def test_one_that_cannot_be_done_keeps_no_other_from_its_turn() -> None:
    done: list[int] = []

    def perform(item: int) -> None:
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
    assert asked == [0], "no more is looked for, either"
