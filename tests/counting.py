"""Calls to AWS, counted where they leave botocore: what an operation costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Counted:
    """The operations that were called, in their order."""

    operations: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, *, model: Any, **_: Any) -> None:
        with self._lock:
            self.operations.append(model.name)


@contextmanager
def counted(*clients: Any) -> Iterator[Counted]:
    """Counts the calls of these clients while it is open; a retry by the SDK is no new call of ours."""
    counter = Counted()
    for client in clients:
        client.meta.events.register("before-call.*.*", counter, unique_id="counted")
    try:
        yield counter
    finally:
        for client in clients:
            client.meta.events.unregister("before-call.*.*", counter, unique_id="counted")


def spent(calls: Counted) -> list[str]:
    """The operations since the last time that this was asked."""
    operations, calls.operations = calls.operations, []
    return operations
