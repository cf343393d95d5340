"""Lets the time of moto's queues pass at once, so that what a visibility timeout or a delay hides is seen again."""

from collections.abc import Iterable, Iterator
from typing import Any

from moto.backends import get_backend
from moto.core.utils import unix_time_millis

_OLDEST_MS = 11 * 3_600_000
"""moto counts the twelve hours for which a message may be hidden from its sending; AWS does from its receipt."""


def reveal_messages() -> None:
    """Makes every message of every queue in moto visible; one that somebody is working on is delivered twice then."""
    for message in _messages():
        message.visible_at = 0.0
        message.delayed_until = 0.0


def pass_queue_time(seconds: float) -> None:
    """Makes every message older, and those that are hidden so much nearer to being seen."""
    now_ms = unix_time_millis()
    for message in _messages():
        message.visible_at -= seconds * 1000
        message.delayed_until -= seconds * 1000
        message.sent_timestamp = int(max(message.sent_timestamp - seconds * 1000, now_ms - _OLDEST_MS))


def seconds_until_seen() -> float | None:
    """How long until some message of some queue is visible, 0.0 if one is now; None where there is no message."""
    return _seconds_until_seen(_messages())


def is_seen_in(url: str) -> bool:
    """Whether the queue has a visible message."""
    queues = (queue for queue in _queues() if queue.name == url.rsplit("/", 1)[-1])
    return _seconds_until_seen(message for queue in queues for message in queue._messages) == 0.0


def forget_messages() -> None:
    """Empties all queues; a purge may be had once a minute only."""
    for queue in _queues():
        queue._messages = []


def _seconds_until_seen(messages: Iterable[Any]) -> float | None:
    waits = [max(message.visible_at, message.delayed_until) - unix_time_millis() for message in messages]
    return max(0.0, min(waits) / 1000) if waits else None


def _messages() -> Iterator[Any]:
    # moto reads these in milliseconds since 1970, and the wall's clock is not ours to move. There is no way through
    # the API: a message in flight can be made visible only by who knows its receipt, and a delayed one not at all.
    for queue in _queues():
        yield from queue._messages


def _queues() -> Iterator[Any]:
    for regions in get_backend("sqs").values():
        for backend in regions.values():
            yield from backend.queues.values()
