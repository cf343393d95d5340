"""Who is in a room: the first example of a named object."""

from __future__ import annotations


class Room:
    """Members in the order in which they came."""

    def __init__(self) -> None:
        self.members: list[str] = []

    def join(self, who: str) -> list[str]:
        """Everybody who is there, each once; whoever is there already changes nothing."""
        if who not in self.members:
            self.members.append(who)
        return self.members
