"""Who is in a room, until it closes: the first example of a named object."""

from __future__ import annotations

from isolane.errors import Conflict


class Room:
    """Members in the order in which they came."""

    def __init__(self) -> None:
        self.members: list[str] = []
        self.closed = False
        self.alarm_at_ms: int | None = None

    def join(self, who: str) -> list[str]:
        """Everybody who is there, each once; whoever is there already changes nothing."""
        if who not in self.members:
            if self.closed:
                raise Conflict("The room is closed.", code="room_closed")
            self.members.append(who)
        return self.members

    def close_at(self, at_ms: int) -> None:
        """The room closes then, and at no other time that was said before."""
        self.alarm_at_ms = at_ms

    def alarm(self) -> None:
        """It is time."""
        self.closed = True

    def look(self) -> dict[str, object]:
        """All of the state."""
        return dict(vars(self))
