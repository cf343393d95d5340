"""Lets the time of moto's queues pass at once, so that what a visibility timeout or a delay hides is seen again."""

from typing import Any

from moto.backends import get_backend


def reveal_messages() -> None:
    """Makes every message of every queue in moto visible; one that somebody is working on is delivered twice then."""
    for regions in get_backend("sqs").values():
        for backend in regions.values():
            for queue in backend.queues.values():
                _reveal(queue)


def _reveal(queue: Any) -> None:
    # moto reads these in milliseconds since 1970, and the wall's clock is not ours to move. There is no way through
    # the API: a message in flight can be made visible only by who knows its receipt, and a delayed one not at all.
    for message in queue._messages:
        message.visible_at = 0.0
        message.delayed_until = 0.0
