"""Lines that are put together until none has come for a while: the third example of a named object, with an alarm."""

from __future__ import annotations

QUIET_MS = 60_000


class Digest:
    """A digest that is flushed a minute after the last line; each new line puts that off."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.flushed: list[list[str]] = []
        self.alarm_at_ms: int | None = None

    def add(self, line: str, *, now_ms: int) -> None:
        """One line more. What time it is, is the caller's to say: a method looks at no clock."""
        self.lines.append(line)
        self.alarm_at_ms = now_ms + QUIET_MS

    def alarm(self) -> None:
        """It was quiet for a minute: these lines belong together."""
        self.flushed.append(self.lines)
        self.lines = []
