"""The checker that exclusion is judged by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlap import Interval, most_at_once


def intervals(*pairs: tuple[int, int]) -> list[Interval]:
    return [Interval(from_ns=from_ns, until_ns=until_ns) for from_ns, until_ns in pairs]


@pytest.mark.parametrize(
    ("pairs", "most"),
    [
        ([], 0),
        ([(0, 5)], 1),
        ([(0, 5), (5, 9)], 1),
        ([(5, 9), (0, 5)], 1),
        ([(0, 5), (4, 9)], 2),
        ([(0, 9), (2, 3), (4, 5)], 2),
        ([(0, 9), (1, 8), (2, 7), (8, 9)], 3),
        ([(3, 3), (0, 9)], 1),
        ([(0, 5), (0, 5)], 2),
    ],
)
def test_as_many_are_at_once_as_have_a_moment_in_common(pairs: list[tuple[int, int]], most: int) -> None:
    assert most_at_once(intervals(*pairs)) == most


def test_an_interval_that_ends_before_it_begins_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="before"):
        most_at_once(intervals((2, 1)))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12))
def test_it_counts_what_looking_at_every_moment_counts(drawn: list[tuple[int, int]]) -> None:
    pairs = [(start, start + length) for start, length in drawn]
    at_each = [sum(start <= moment < end for start, end in pairs) for moment in range(41)]
    assert most_at_once(intervals(*pairs)) == max(at_each)
