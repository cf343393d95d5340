"""What a semaphore is: its row, the leases on its permits, and what a refused acquire means.

A row holds `limit`, `free` (what is not out; negative after the limit was lowered), `fence` (the number of the newest
lease) and two maps by holder: `leases` (how many permits, until when) and `fences` (the lease's number, apart from the
rest because DynamoDB computes a number only for an attribute that is set by itself).

    permits of all leases + free = limit, after every write
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isolane.errors import InvalidRequest

SKEW_MS = 2_000
"""How far apart the clocks of two machines may be: a lease is taken from its holder this long after it has lapsed."""
MOST_RECLAIMED = 40
"""Lapsed leases removed by one write; each is named in its condition, whose length DynamoDB bounds at 4 KB."""
_LONGEST_HOLDER = 255
"""Bytes; a row holds the name of each of its holders twice."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Permits that are somebody's until then."""

    name: str
    holder: str
    count: int
    """How many permits."""
    until_ms: int
    """Milliseconds since 1970 after which it has lapsed; whoever works under it stops before."""
    fence: int
    """Larger than that of every earlier lease of this name: what is guarded by it can refuse a late holder's write."""

    def lapsed(self, now_ms: int) -> bool:
        return self.until_ms <= now_ms

    def reclaimable(self, now_ms: int) -> bool:
        """Lapsed by everybody's clock."""
        return self.lapsed(now_ms - SKEW_MS)


@dataclass(frozen=True, kw_only=True)
class Semaphore:
    """All permits of one name, as they were when its row was read."""

    limit: int
    free: int
    fence: int
    leases: Mapping[str, Lease]
    """By holder, lapsed ones included until somebody needs their place."""

    def live(self, now_ms: int) -> list[Lease]:
        """The leases that have not lapsed, oldest first."""
        return sorted((lease for lease in self.leases.values() if not lease.lapsed(now_ms)), key=lambda it: it.fence)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody asks for."""

    name: str
    holder: str
    count: int
    lease_s: float
    limit: int | None
    """How many permits there are, if this is the first to ask for any."""

    def __post_init__(self) -> None:
        if not 1 <= _bytes_of(self.holder) <= _LONGEST_HOLDER:
            raise InvalidRequest("A holder is named by 1 to 255 bytes of UTF-8.")
        if self.count < 1 or self.lease_s <= 0:
            raise InvalidRequest("A lease is for at least one permit and for some time.")
        if self.limit is not None:
            check_limit(self.limit)

    def entry(self, now_ms: int) -> dict[str, int]:
        """The lease as it lies in the row, from now on."""
        return {"count": self.count, "until_ms": now_ms + int(self.lease_s * 1000)}


def _bytes_of(text: str) -> int:
    """0 for what is no text in UTF-8 at all: a lone surrogate."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0


def check_limit(limit: int) -> None:
    if limit < 0:
        raise InvalidRequest("A limit is a whole number from 0.")


@dataclass(frozen=True, kw_only=True)
class Create:
    """There is no row: make it, with the lease that is asked for in it."""


@dataclass(frozen=True, kw_only=True)
class Take:
    """Take the permits, and with the same write remove these leases, which have lapsed."""

    over: tuple[Lease, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reclaim:
    """Remove these lapsed leases, and see again: more than one write can name must go first."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True, kw_only=True)
class Mine:
    """The lease is there already: an earlier try was applied, and its answer lost."""

    lease: Lease


@dataclass(frozen=True, kw_only=True)
class Full:
    """Not now."""


Move = Create | Take | Reclaim | Mine | Full


def decide(found: Semaphore | None, *, wish: Wish, now_ms: int) -> Move:
    """What to do now that this was found, which had no room for the wish, or has more now."""
    if found is None:
        return Create()
    mine = found.leases.get(wish.holder)
    if mine is not None and not mine.reclaimable(now_ms):
        return Full() if mine.lapsed(now_ms) or mine.count != wish.count else Mine(lease=mine)
    if mine is None and found.free >= wish.count:
        return Take()
    return _instead_of(_reclaimable(found, wish=wish, now_ms=now_ms), free=found.free, count=wish.count)


def _instead_of(lapsed: tuple[Lease, ...], *, free: int, count: int) -> Move:
    over = lapsed[:MOST_RECLAIMED]
    if free + permits_of(lapsed) < count:
        return Full()
    return Take(over=over) if free + permits_of(over) >= count else Reclaim(leases=over)


def _reclaimable(found: Semaphore, *, wish: Wish, now_ms: int) -> tuple[Lease, ...]:
    """The holder's own first, as it has one lease and never two; then the largest."""
    lapsed = [lease for lease in found.leases.values() if lease.reclaimable(now_ms)]
    return tuple(sorted(lapsed, key=lambda it: (it.holder != wish.holder, -it.count)))


def permits_of(leases: Iterable[Lease]) -> int:
    return sum(lease.count for lease in leases)


def empty_row(*, limit: int) -> dict[str, Any]:
    return {"limit": limit, "free": limit, "fence": 0, "leases": {}, "fences": {}}


def first_row(wish: Wish, *, limit: int, now_ms: int) -> dict[str, Any]:
    """The row as its creator wants it: with its own lease in it, which is number 1."""
    mine, fence = {wish.holder: wish.entry(now_ms)}, {wish.holder: 1}
    return {**empty_row(limit=limit), "free": limit - wish.count, "fence": 1, "leases": mine, "fences": fence}


def lease_in(row: Mapping[str, Any], *, name: str, holder: str) -> Lease:
    """One holder's lease, in a row or in what was changed of it."""
    return Lease(name=name, holder=holder, fence=row["fences"][holder], **row["leases"][holder])


def from_row(row: Mapping[str, Any], *, name: str) -> Semaphore:
    leases = {holder: lease_in(row, name=name, holder=holder) for holder in row["leases"]}
    return Semaphore(limit=row["limit"], free=row["free"], fence=row["fence"], leases=leases)
