"""Callers who do not let go: each text is handed in under its own key until it is taken, and asked after to its end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import urllib3

from tests.e2e.client import Answer, Client

T = TypeVar("T")

LONGEST_PAUSE_S = 3.0
"""More is never waited, whatever Retry-After says: a soak is short."""
SHORT_PAUSE_S = 0.3
"""What is waited where no answer says how long."""


@dataclass
class Sent:
    """One text, and what its caller saw."""

    key: str
    text: str
    answers: Counter[str] = field(default_factory=Counter)
    """By status and code; `no answer` where the connection broke."""
    ids: set[str] = field(default_factory=set)
    """The task's id, by every answer that named one."""
    task: Any = None
    """The task as it was seen last."""
    started_s: float = 0.0
    took_s: float | None = None
    """From when it was handed in to when it was seen to be terminal; None: it never was."""

    @property
    def ended(self) -> bool:
        return self.task is not None and bool(self.task["terminal"])

    def note(self, answer: Answer | None) -> None:
        """Keeps what came back."""
        self.answers[name_of(answer)] += 1
        if answer is not None and answer.status in {200, 202}:
            self.task = answer.json
            self.ids.add(self.task["taskId"])
        if self.ended and self.took_s is None:
            self.took_s = time.monotonic() - self.started_s


@dataclass(frozen=True, kw_only=True)
class Callers:
    """Several clients at once; all give up when `over` is set."""

    api: Client
    clients: int
    over: threading.Event

    def submit(self, texts: Iterable[Sent]) -> None:
        """Hands each text in, under the same key until it is taken or refused for good."""
        self.all(self._submit, texts)

    def follow(self, texts: Iterable[Sent]) -> None:
        """Asks after each task until it is terminal."""
        self.all(self._follow, texts)

    def all(self, work: Callable[[T], None], items: Iterable[T]) -> None:
        """Does some work on each, several at once."""
        with ThreadPoolExecutor(self.clients) as threads:
            list(threads.map(work, items))

    def _submit(self, sent: Sent) -> None:
        sent.started_s = time.monotonic()
        while not self.over.is_set():
            answer = tried(lambda: self.api.submit(sent.text, key=sent.key))
            sent.note(answer)
            if answer is not None and answer.status < 500:
                return
            self.over.wait(pause_s(answer))

    def _follow(self, sent: Sent) -> None:
        while sent.task is not None and not sent.ended and not self.over.is_set():
            answer = tried(lambda: self.api.result(sent.task["taskId"]))
            sent.note(answer)
            if answer is not None and 400 <= answer.status < 500:
                return
            self.over.wait(0.0 if sent.ended else pause_s(answer))


def tried(call: Callable[[], Answer]) -> Answer | None:
    """The answer, or None where the connection broke."""
    try:
        return call()
    except urllib3.exceptions.HTTPError:
        return None


def pause_s(answer: Answer | None) -> float:
    """How long to wait before the next question."""
    said = answer.headers.get("retry-after") if answer is not None else None
    return min(float(said), LONGEST_PAUSE_S) if said is not None else SHORT_PAUSE_S


def name_of(answer: Answer | None) -> str:
    """An answer by status and code."""
    if answer is None:
        return "no answer"
    try:
        return f"{answer.status} {answer.code}" if answer.status >= 400 else str(answer.status)
    except (ValueError, KeyError, TypeError):  # the emulator's own words
        return str(answer.status)
