"""Trying again while somebody else holds what is wanted: with full jitter, and within a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from isolane import backoff
from isolane.deadline import Deadline
from isolane.errors import Contended

T = TypeVar("T")

PATIENCE_S = 3.0
"""How long a caller waits for a contended name, before it is told to come again."""


def patience(deadline: Deadline | None) -> Deadline:
    """The moment by which a contended call has ended: PATIENCE_S from now, or its deadline where that comes sooner."""
    return Deadline.after(PATIENCE_S) if deadline is None else deadline.within(PATIENCE_S)


def persist(work: Callable[[], T], *, until: Deadline, sleep: Callable[[float], None] = time.sleep) -> T:
    """What `work` returns, tried (once at least) until it meets nobody; raises Contended when the time is over."""
    tries = 0
    while True:
        try:
            return work()
        except Contended:
            if until.expired:
                raise
        tries += 1
        sleep(until.bounded(backoff.after_collision(tries)))
