"""What pictures need without a poller, once a minute: what a poll does, for each whose owner is owed something."""

from __future__ import annotations

import functools
from typing import Any

from images import generations as pictures
from images.generations import DUTY, Generations
from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.due import due
from isolane.ending import LATE
from isolane.observability import invocation
from isolane.sweep import Duty, Sweeper
from isolane.task import Task

_AT_ONCE = 8
"""Pictures that are asked about side by side; each waits for its provider."""


def build(app: Bindings, *, generations: Generations | None = None, at_once: int = _AT_ONCE) -> Sweeper:
    """The sweeper of pictures. Raises ConfigurationError where none could ever be made."""
    ours = generations if generations is not None else pictures.build(app)

    def carry_on(task: Task, deadline: Deadline) -> None:
        mine = ours.tasks.sweep(task)
        if mine is not None:
            ours.carry_on(mine, deadline=deadline)

    return Sweeper(
        [
            Duty(name="images", due=lambda: due(app.tasks, DUTY), perform=carry_on),
            Duty(
                name="late_images",
                due=lambda: due(app.tasks, LATE),
                perform=lambda task, deadline: ours.look_again(task, deadline=deadline),
            ),
        ],
        at_once=at_once,
    )


@functools.cache
def _sweeper() -> Sweeper:
    return build(Bindings.from_env())


def handler(event: Any, context: Any) -> None:  # noqa: ARG001 - whatever the schedule says: it is time
    """What Lambda calls."""
    with invocation(entry="schedule", context=context):
        _sweeper().sweep(deadline=Deadline.after(context.get_remaining_time_in_millis() / 1000))
