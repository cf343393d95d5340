"""Work is waited for no longer than its limit, and what it raises arrives where it is waited for."""

from __future__ import annotations

import time
from queue import Empty
from threading import Event

import pytest

from isolane import time_limit
from isolane.errors import TimedOut


def test_work_in_time_gives_what_it_returns() -> None:
    assert time_limit.run(lambda: 7, limit_s=5) == 7
    assert time_limit.run(lambda: None, limit_s=5) is None


@pytest.mark.parametrize("error", [KeyError("k"), TimeoutError(), Empty(), SystemExit(3)], ids=repr)
def test_what_the_work_raises_is_raised_and_is_no_time_out(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        time_limit.run(work, limit_s=5)
    assert raised.value is error


def test_work_that_takes_longer_is_given_up_and_told_so() -> None:
    told, started_s = Event(), time.monotonic()
    with pytest.raises(TimedOut, match=r"^timed out after (\d+) ms$") as refused:
        time_limit.run(lambda: told.wait(30), limit_s=0.05, give_up=told.set)
    assert told.is_set()
    assert 0.05 <= time.monotonic() - started_s < 5
    assert refused.value.retryable
    assert 50 <= int(refused.value.message.split()[3]) < 5_000


@pytest.mark.parametrize("limit_s", [0, -1])
def test_work_without_any_time_is_not_started(limit_s: float) -> None:
    started = Event()
    with pytest.raises(TimedOut, match="timed out after 0 ms"):
        time_limit.run(started.set, limit_s=limit_s)
    assert not started.wait(0.05)
