"""One after another, or n at once: calls for one name, from whatever process they come.

    with serial(permits, "tickets") as held: ...          # held.deadline: stop before
    with at_most(permits, 3, name="thumbnails"): ...

    @serial(permits, "nightly-report")
    def report(): ...

Each is a semaphore with a limit of its own, so that `serial` stays serial for a name that is also used with `at_most`.
Neither keeps an order among those who wait, and neither may be entered again from inside: that would wait for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from isolane.errors import Contended
from isolane.permits import Held, Permits

LEASE_S = 30.0
WAIT_S = 30.0


@contextmanager
def at_most(permits: Permits, n: int, *, name: str, lease_s: float = LEASE_S, wait_s: float = WAIT_S) -> Iterator[Held]:
    """A block, or a decorated function, that runs at most `n` times at once for one name.

    It has `lease_s` seconds to end in; whoever runs longer may meet others (`held.deadline` says how long is left).
    Raises Contended where no turn came within `wait_s` seconds. Costs what acquire and release do.
    """
    turn = f"{name}#at-most-{n}"
    with permits.held(turn, holder=uuid4().hex, lease_s=lease_s, limit=n, wait_s=wait_s) as held:
        if held is None:
            raise Contended(f"No turn came within {wait_s:g} s.")
        yield held


@contextmanager
def serial(permits: Permits, name: str, *, lease_s: float = LEASE_S, wait_s: float = WAIT_S) -> Iterator[Held]:
    """A block, or a decorated function, that runs alone for one name: `at_most` one at once."""
    with at_most(permits, 1, name=name, lease_s=lease_s, wait_s=wait_s) as held:
        yield held
