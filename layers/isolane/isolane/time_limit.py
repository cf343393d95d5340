"""A total limit on work that has no such limit of its own: a name look-up, a TLS handshake, a reply that drips in."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

from isolane.errors import TimedOut

T = TypeVar("T")


def run(work: Callable[[], T], *, limit_s: float, give_up: Callable[[], None] = lambda: None) -> T:
    """What `work` returns or raises, or TimedOut after `limit_s`.

    The work runs in a thread of its own, because per-operation timeouts begin anew with each byte. After the limit,
    `give_up` is called, which should make the work end soon; whatever it still returns is dropped.
    """
    if limit_s <= 0:
        raise timed_out_after(0)
    started_s = time.monotonic()
    end: Future[T] = Future()
    Thread(target=_settle, args=(end, work), name="time-limit", daemon=True).start()
    if not wait([end], timeout=limit_s).done:
        give_up()
        raise timed_out_after(time.monotonic() - started_s)
    return end.result()


def timed_out_after(seconds: float) -> TimedOut:
    return TimedOut(f"timed out after {round(seconds * 1000)} ms")


def _settle(end: Future[T], work: Callable[[], T]) -> None:
    try:
        end.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised again, in the thread that waits
        end.set_exception(error)
