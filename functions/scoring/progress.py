"""How far a text is, for those who poll: written under its claim, and no oftener than every two seconds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from isolane.errors import Contended, Unavailable
from isolane.observability import logger

EVERY_S = 2.0


@dataclass(kw_only=True)
class Progress:
    """What one delivery tells of its task."""

    write: Callable[[dict[str, int]], bool]
    """Writes it, and says whether the task is still ours."""
    clock: Callable[[], float]
    _told_s: float = field(default=-math.inf, init=False)

    def tell(self, done: int, of: int) -> bool:
        """Says that so many parts are done. False where the task is not ours any more: canceled, or with another."""
        now_s = self.clock()
        if now_s - self._told_s < EVERY_S:
            return True
        self._told_s = now_s
        try:
            return self.write({"done": done, "of": of})
        except (Unavailable, Contended) as error:  # nobody's score depends on it
            logger().warning("progress was not told", extra={"error": type(error).__name__})
            return True
