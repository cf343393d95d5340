"""Logs and metrics, by Powertools: JSON lines that carry `entry` and the task's id, and numbers in the embedded format.

Nothing is made at import; the first line or number makes what it needs. No text of a user's is ever logged.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

_counting = threading.Lock()
_LONGEST = 128
_OF_ONE_INVOCATION = ["entry", "request_id", "x_request_id", "caller", "task_id"]


@functools.cache
def logger() -> Logger:
    """The one logger of this container."""
    return Logger(utc=True, log_uncaught_exceptions=False)


@functools.cache
def metrics() -> Metrics:
    """The one metrics collector of this container, flushed at the end of each invocation."""
    return Metrics()


@contextmanager
def invocation(*, entry: str, context: Any) -> Iterator[None]:
    """One invocation: its lines say which way in it was (`api` or `queue`), its numbers are written at its end."""
    logger().append_keys(entry=entry, request_id=getattr(context, "aws_request_id", None))
    try:
        yield
    finally:
        flush()
        logger().remove_keys(_OF_ONE_INVOCATION)  # the container lives on, and serves somebody else next


def concerns(**keys: str) -> None:
    """Lines of this invocation carry these: `x_request_id` (the one that the caller was told), `caller`, `task_id`.

    As a caller may send anything for an id, no more of it than an id can have.
    """
    logger().append_keys(**{name: value[:_LONGEST] for name, value in keys.items()})


@contextmanager
def about(**keys: str) -> Iterator[None]:
    """Lines written inside carry these keys, in this thread only."""
    logger().thread_safe_append_keys(**keys)
    try:
        yield
    finally:
        logger().thread_safe_remove_keys(list(keys))


def count(name: str, *, amount: int = 1) -> None:
    with _counting:  # the collector is a plain dictionary, and messages of one batch count side by side
        metrics().add_metric(name=name, unit=MetricUnit.Count, value=amount)


def duration(name: str, *, milliseconds: float) -> None:
    with _counting:
        metrics().add_metric(name=name, unit=MetricUnit.Milliseconds, value=milliseconds)


def flush() -> None:
    with _counting:
        if metrics().metric_set:
            metrics().flush_metrics()
