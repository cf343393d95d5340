"""Exclusion, proved from recorded intervals: how many were at work at once, whatever they say themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Interval:
    """When somebody was at work: from and until, in nanoseconds of a clock that all of this machine share."""

    from_ns: int
    until_ns: int
    who: str = ""


def most_at_once(intervals: Iterable[Interval]) -> int:
    """The largest number of intervals that have a moment in common; one may begin where another ends."""
    most = inside = 0
    for _, change in sorted(_changes(intervals)):
        inside += change
        most = max(most, inside)
    return most


def _changes(intervals: Iterable[Interval]) -> Iterable[tuple[int, int]]:
    """Ends sort before beginnings of the same moment."""
    for interval in intervals:
        if interval.until_ns < interval.from_ns:
            raise ValueError(f"{interval} ends before it begins")
        if interval.until_ns > interval.from_ns:
            yield interval.from_ns, 1
            yield interval.until_ns, -1
