"""What an alarm's message comes to: its object's method `alarm` is called, once, at its time."""

from __future__ import annotations

import functools
from typing import Any

from isolane.alarms import FIRST_RETRY_S, Alarm, from_body
from isolane.bindings import Bindings
from isolane.consumer import Consumer, Message
from isolane.deadline import Deadline
from isolane.errors import Contended, InvalidRequest, Unavailable
from isolane.observability import invocation, logger
from objects.digest import Digest
from objects.room import Room
from objects.tickets import Tickets

KINDS: dict[str, type] = {kind.__name__: kind for kind in (Room, Tickets, Digest)}
FAILED = "alarm_failed"
"""Why an alarm was put aside: each of its tries failed."""


class Ringing:
    """What happens to each message."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def ring(self, message: Message, *, deadline: Deadline) -> None:
        """Rings, and where the object's method fails, again after 2, 4, 8 … s; after six of these it is put aside."""
        try:
            alarm = from_body(message.body)
            kind = KINDS[alarm.kind]
        except (InvalidRequest, KeyError):
            message.dead_letter("invalid_alarm")
            return
        if early_s := alarm.left_s(now_ms=self._app.objects.now_ms()):
            message.retry(delay_seconds=early_s)
            return
        try:
            rang = self._app.objects.ring(kind, alarm, deadline=deadline)
        except (Contended, Unavailable):  # the store is busy: that says nothing of the alarm, and costs no try
            message.retry(delay_seconds=FIRST_RETRY_S)
        except Exception as error:  # noqa: BLE001 - the object's own code, which may fail in any way
            self._try_again(message, alarm, error)
        else:
            logger().info("alarm", extra={"object": alarm.name, "rang": rang})

    def _try_again(self, message: Message, alarm: Alarm, error: Exception) -> None:
        """The next try is a message of its own, as its number is ours to count; it is sent before this one is done."""
        logger().warning("alarm failed", extra={"object": alarm.name, "error": type(error).__name__}, exc_info=True)
        again = alarm.again()
        if again is None:
            message.dead_letter(FAILED)
        else:
            self._app.alarms.send(again, now_ms=self._app.objects.now_ms())


def build(app: Bindings) -> tuple[Ringing, Consumer]:
    """What handles an alarm, and the consumer of their queue."""
    return Ringing(app), Consumer(queue=app.alarm_queue, dead_letters=app.alarm_dead_letters, needs_s=5.0)


@functools.cache
def _ringing() -> tuple[Ringing, Consumer]:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    ringing, consumer = _ringing()
    with invocation(entry="queue", context=context):
        deadline = Deadline.after(context.get_remaining_time_in_millis() / 1000)
        return consumer.consume(event, functools.partial(ringing.ring, deadline=deadline), deadline=deadline)
