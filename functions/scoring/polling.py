"""Waiting for a task over HTTP: how long to wait before asking again, and the long poll."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

from isolane.api import Answer, Request, whole_number
from isolane.deadline import Deadline
from isolane.task import Task, as_json, retry_after_s

LONGEST_WAIT_S = 20
_LOOK_EVERY_S = 0.7
_PREFERS_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]+)\"?\s*(?:$|[,;])", re.IGNORECASE)


def preferred_wait_s(request: Request) -> int:
    """How long the caller lets us wait: `?wait=N` or `Prefer: wait=N`, at most 20 s; 0 where it says nothing."""
    preferred = _PREFERS_WAIT.search(request.headers.get("prefer", ""))
    asked = request.query.get("wait", preferred[1] if preferred else None)
    return whole_number(asked, name="wait", default=0, smallest=0, largest=LONGEST_WAIT_S)


def wait_for_end(
    read: Callable[[], Task], *, wait_s: int, deadline: Deadline, sleep: Callable[[float], None] = time.sleep
) -> Task:
    """The task once it is terminal, or as it is after `wait_s`. It looks at least once a second."""
    patience = deadline.within(wait_s)
    task = read()
    while not task.terminal and not patience.expired:
        sleep(patience.bounded(_LOOK_EVERY_S))
        task = read()
    return task


def answer(task: Task, *, now_ms: int, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A task as an answer; `Retry-After` says when to ask again, while there is something to wait for."""
    again = {} if task.terminal else {"Retry-After": str(retry_after_s(task, now_ms))}
    return Answer(status=status, body=as_json(task), headers={**again, **(headers or {})})
