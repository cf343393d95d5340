"""The local semaphore: at most n at once within one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from isolane.errors import ConfigurationError

In = TypeVar("In")
Out = TypeVar("Out")


class Pool:
    """`size` places. `with pool:` takes one and gives it back, also on an error; `pool.map` works on many items.

    Whoever has a place must not take a second one: not inside `with pool:`, and not in what `pool.map` works on.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ConfigurationError("A pool has at least one place: without any, everything would wait for ever.")
        self.size = size
        self._places = threading.BoundedSemaphore(size)

    def __enter__(self) -> Pool:
        self._places.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()

    def map(self, work: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """The results in the order of the items, at most `size` of them being worked on at once.

        All items are worked on, also where one raises; then the first error is raised.
        """
        todo = list(items)
        if len(todo) <= 1 or self.size == 1:
            return [self._one(work, item) for item in todo]
        with ThreadPoolExecutor(max_workers=min(self.size, len(todo))) as threads:
            running = [threads.submit(self._one, work, item) for item in todo]
        return [future.result() for future in running]

    def _one(self, work: Callable[[In], Out], item: In) -> Out:
        with self:
            return work(item)
