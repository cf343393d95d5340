"""Waiting without sleeping a fixed time: ask, politely, until the answer is yes or the time is up."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5


class WaitedTooLong(AssertionError):
    """What was waited for did not come in time."""


def wait_until(
    predicate: Callable[[], Answer | None],
    *,
    description: str,
    timeout_s: float = 10.0,
) -> Answer:
    """Return the predicate's first truthy answer; raise WaitedTooLong, naming the description, after timeout_s."""
    deadline_s = time.monotonic() + timeout_s
    pause_s = FIRST_PAUSE_S
    while True:
        answer = predicate()
        if answer:
            return answer
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise WaitedTooLong(f"waited {timeout_s:g} s in vain until {description}; the last answer was {answer!r}")
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
