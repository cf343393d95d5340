"""A deadline says how long is left, and that nothing is left when nothing is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.deadline import Deadline


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now_s: float = 1_000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_time_runs_out(clock: Clock) -> None:
    deadline = Deadline.after(10, clock=clock)
    assert (deadline.left_s(), deadline.expired) == (10, False)
    clock.now_s += 9.5
    assert (deadline.left_s(), deadline.expired) == (0.5, False)
    clock.now_s += 0.5
    assert (deadline.left_s(), deadline.expired) == (0, True)


def test_less_than_nothing_is_never_left(clock: Clock) -> None:
    deadline = Deadline.after(-5, clock=clock)
    assert (deadline.left_s(), deadline.bounded(3), deadline.expired) == (0, 0, True)


def test_nothing_left_is_not_the_same_as_no_limit(clock: Clock) -> None:
    assert Deadline.after(0, clock=clock).bounded(10) == 0
    assert Deadline(0.0, clock).bounded(10) == 0


def test_a_step_gets_its_own_limit_or_what_is_left(clock: Clock) -> None:
    deadline = Deadline.after(4, clock=clock)
    assert (deadline.bounded(3), deadline.bounded(5), deadline.bounded(0), deadline.bounded(-1)) == (3, 4, 0, 0)


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_a_step_within_a_deadline_ends_no_later_than_either(whole_s: float, step_s: float) -> None:
    clock = Clock()
    deadline = Deadline.after(whole_s, clock=clock)
    assert deadline.within(step_s).left_s() == pytest.approx(deadline.bounded(step_s))


def test_the_clock_is_monotonic_where_none_is_given() -> None:
    assert 59 < Deadline.after(60).left_s() <= 60
