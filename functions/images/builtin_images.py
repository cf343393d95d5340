"""The provider that needs nothing: it draws a landscape, and takes a while over it, as providers do.

It keeps no record. A prediction's id says when it was made and for which job, and that is all there is to know.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from images.landscape import draw
from images.provider import Job, Made, Prediction, Waiting, Working
from isolane.deadline import Deadline

WAITS_MS = 1_000
WORKS_UNTIL_MS = 3_000

_ID = re.compile(r"builtin-([0-9]{1,15})-([0-9a-f]{32})")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class BuiltinImages:
    """Draws at once, when it is asked for; until three seconds after the submit it says that it is at it."""

    now_ms: Callable[[], int] = field(default=_now_ms, repr=False)

    def submit(self, job: Job, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        return _id_of(job, born_ms=self.now_ms())

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:  # noqa: ARG002 - the same
        """By the id's age; None for an id that no submit of this job gave out."""
        found = _ID.fullmatch(prediction_id)
        if found is None or prediction_id != _id_of(job, born_ms=int(found[1])):
            return None
        age_ms = self.now_ms() - int(found[1])
        if age_ms < WAITS_MS:
            return Waiting()
        if age_ms < WORKS_UNTIL_MS:
            return Working()
        return Made(collect=lambda _: draw(job.prompt))

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:
        """Nothing is under way that could be stopped."""


def _id_of(job: Job, *, born_ms: int) -> str:
    return f"builtin-{born_ms}-{sha256(f'{born_ms}:{job.key}:{job.prompt}'.encode()).hexdigest()[:32]}"
