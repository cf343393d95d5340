"""What has to happen without a reader, once a minute, but for pictures, which have a sweeper of their own."""

from __future__ import annotations

import functools
from typing import Any

from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.due import due
from isolane.observability import invocation
from isolane.sweep import Duty, Sweeper
from isolane.task import REVIEWS


def build(app: Bindings) -> Sweeper:
    """The sweeper with the duties of this application."""
    unreviewed = Duty(
        name="unreviewed", due=lambda: due(app.tasks, REVIEWS), perform=lambda task, _: app.tasks.settled(task)
    )
    vectors = Duty(name="vectors", due=app.compactions.asked, perform=lambda owner, _: app.compactions.perform(owner))
    return Sweeper([unreviewed, _alarms(app), vectors])


def _alarms(app: Bindings) -> Duty:
    """Alarms of objects that come near, or whose message was never sent."""
    return Duty(
        name="alarms",
        due=lambda: app.alarms.near(now_ms=app.objects.now_ms()),
        perform=lambda item, _: app.alarms.send_near(item, now_ms=app.objects.now_ms()),
    )


@functools.cache
def _sweeper() -> Sweeper:
    return build(Bindings.from_env())


def handler(event: Any, context: Any) -> None:  # noqa: ARG001 - whatever the schedule says: it is time
    """What Lambda calls."""
    with invocation(entry="schedule", context=context):
        _sweeper().sweep(deadline=Deadline.after(context.get_remaining_time_in_millis() / 1000))
