"""What a soak is told to do, how its time is kept, and what came of it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.faults.proxy_faults import KINDS
from tests.faults.soak_accounts import Books


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a soak does."""

    tasks: int = 2_000
    batches: int = 25
    """Of documents, 40 each."""
    clients: int = 16
    rate: float = 0.05
    """The share of the functions' calls to AWS that fail."""
    kinds: tuple[str, ...] = KINDS
    kill_every_s: tuple[float, float] = (2.0, 4.0)
    most_kills: int = 1_000
    worker_timeout_s: int = 4
    """A killed worker's messages come back after six times this."""
    limit_s: float = 280
    """The most that it may take, without the deployment."""
    model_calls: int = 10
    """Permits for the model."""
    batch: int = 5
    """Messages of a batch, and how many of them are in work at once: an emulator's invocation costs more than AWS's."""
    seed: int = 1


@dataclass
class Soaked:
    """What came of it."""

    plan: Plan
    books: Books
    faults: dict[str, Any]
    kills: Counter[str]
    """Killed processes, by function."""
    complaints: Counter[str]
    """What the functions logged as going wrong."""
    seconds: dict[str, float]
    """How long each part took."""
    broken: list[str] = field(default_factory=list)


@dataclass
class Watch:
    """The time: how long each part took, and when all is over."""

    over: threading.Event = field(default_factory=threading.Event)
    laps: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ends_s = self._lap_s = time.monotonic()

    def lap(self, name: str) -> None:
        now_s = time.monotonic()
        self.laps[name], self._lap_s = now_s - self._lap_s, now_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._ends_s - time.monotonic())

    @contextmanager
    def running(self, limit_s: float) -> Iterator[None]:
        """The time runs from here; `over` is set at its end, for everybody who waits."""
        self._ends_s = time.monotonic() + limit_s
        alarm = threading.Timer(limit_s, self.over.set)
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()
