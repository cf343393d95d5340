"""Numbers in a row, none twice and none left out: the second example of a named object."""

from __future__ import annotations


class Tickets:
    """A counter."""

    def __init__(self) -> None:
        self.value = 0

    def next(self) -> int:
        """The next number, from 1."""
        self.value += 1
        return self.value
