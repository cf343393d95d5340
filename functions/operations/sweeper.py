"""What has to happen without a reader, once a minute: a list of duties, each with what is due and how it is done.

An index proposes and the base table decides, by a conditional write: two sweepers at once do nothing twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.due import due
from isolane.errors import IsolaneError
from isolane.observability import count, invocation, logger
from isolane.task import REVIEWS

_NEEDS_S = 5.0
"""Nothing is begun with less time than this left: the next minute goes on from there."""


@dataclass(frozen=True, kw_only=True)
class Duty:
    """Something that is done to whatever is due for it."""

    name: str
    due: Callable[[], Iterable[Any]]
    """Whatever is due now, found as it is asked for."""
    perform: Callable[[Any], object]
    """Does it, once, however often it is asked to."""


class Sweeper:
    """Does all duties, as far as the time goes."""

    def __init__(self, duties: Sequence[Duty]) -> None:
        self._duties = duties

    def sweep(self, *, deadline: Deadline) -> None:
        """Every duty in turn; one that fails leaves the others alone."""
        for duty in self._duties:
            try:
                done = _done(duty, deadline=deadline)
            except IsolaneError as error:  # what is due cannot be found; it will be in a minute
                logger().warning("swept badly", extra={"duty": duty.name, "error": type(error).__name__})
                continue
            if done:
                count(f"swept_{duty.name}", amount=done)


def _done(duty: Duty, *, deadline: Deadline) -> int:
    done = 0
    for item in duty.due():
        if deadline.left_s() < _NEEDS_S:
            break
        try:
            duty.perform(item)
        except IsolaneError as error:  # one that fails must not keep the rest from their turn
            logger().warning("not done", extra={"duty": duty.name, "error": type(error).__name__})
        else:
            done += 1
    return done


def build(app: Bindings) -> Sweeper:
    """The sweeper with the duties of this application."""
    unreviewed = Duty(name="unreviewed", due=lambda: due(app.tasks, REVIEWS), perform=app.tasks.settled)
    vectors = Duty(name="vectors", due=app.compactions.asked, perform=app.compactions.perform)
    return Sweeper([unreviewed, _alarms(app), vectors])


def _alarms(app: Bindings) -> Duty:
    """Alarms of objects that come near, or whose message was never sent."""
    return Duty(
        name="alarms",
        due=lambda: app.alarms.near(now_ms=app.objects.now_ms()),
        perform=lambda item: app.alarms.send_near(item, now_ms=app.objects.now_ms()),
    )


@functools.cache
def _sweeper() -> Sweeper:
    return build(Bindings.from_env())


def handler(event: Any, context: Any) -> None:  # noqa: ARG001 - whatever the schedule says: it is time
    """What Lambda calls."""
    with invocation(entry="schedule", context=context):
        _sweeper().sweep(deadline=Deadline.after(context.get_remaining_time_in_millis() / 1000))
