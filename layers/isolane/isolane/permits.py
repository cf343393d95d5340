"""A strict semaphore for all workers: of one name, at most `limit` permits are out, wherever they were asked for.

    lease = permits.acquire("model", holder=claim_id, lease_s=30, limit=5)
    if lease is None: ...                     # none is free: come again later
    permits.release(lease)

A permit is held under a lease, by a holder, until a moment; a holder that dies loses it when the lease has lapsed and
somebody needs its place. A holder is one piece of work, not a machine: use a fresh id each time, such as a claim's.
Nothing here ever guesses: where the store does not answer, that is raised (Unavailable, Contended), and nobody has a
permit. A lease cannot stop its holder: work has to end before it does, which is what the deadline of `held` is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from isolane import backoff
from isolane.aws.table import Table
from isolane.deadline import Deadline
from isolane.errors import ConditionFailed, ConfigurationError, Contended, Unavailable
from isolane.lapsed import Removal
from isolane.observability import logger
from isolane.semaphore import (
    Create,
    Full,
    Lease,
    Mine,
    Move,
    Reclaim,
    Semaphore,
    Take,
    Wish,
    check_limit,
    decide,
    empty_row,
    first_row,
    from_row,
    lease_in,
)

# The clauses of the conditions, each with the race that it closes.

ENOUGH_FREE = "#free >= :needed"
"""Two who both see the last permit: the write that takes it is the one that looks."""
NOT_A_HOLDER = "attribute_not_exists(#leases.#holder)"
"""A write sent again because its answer was lost: a holder has one lease, never two."""
STILL_MINE = "#fences.#holder = :fence"
"""A holder that outlived its lease: what lies under its name by now may be another one."""
NO_ROW = "attribute_not_exists(#pk)"
"""Two who both find no row: the second must not wipe out the first one's lease."""
THE_SAME_LIMIT = "#limit = :seen"
"""Two who change the limit at once, and a change sent again: `free` moves by the difference to what was there."""

_MOST_WRITES = 4
"""How often one try to acquire may be refused because the row has just changed; then it counts as full."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A lease, and the moment by which work under it must have ended."""

    lease: Lease
    deadline: Deadline


@dataclass(frozen=True)
class Permits:
    """All semaphores of a deployment, in one table (State), a row each, which stays for ever so that fences only grow.

    A write costs a unit for each KB of its row, which is about ten leases.
    """

    table: Table
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], None] = time.sleep

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def acquire(
        self,
        name: str,
        *,
        holder: str,
        lease_s: float,
        count: int = 1,
        limit: int | None = None,
        wait_s: float = 0.0,
    ) -> Lease | None:
        """Takes `count` permits at once for `lease_s` seconds, or none at all; None where so many are not free.

        One write; two where lapsed leases have to be removed, or for the first of a name, which sets its limit (later
        ones do not: see `set_limit`). With `wait_s` it tries again that long, with pauses that grow. A holder that has
        a lease for `count` already gets that one, as the answer to its lost one. Raises Unavailable and Contended.
        """
        wish = Wish(name=name, holder=holder, count=count, lease_s=lease_s, limit=limit)
        patience, tries = Deadline.after(wait_s, clock=self.clock), 1
        while (lease := self._try(wish)) is None and not patience.expired:
            self.sleep(patience.bounded(backoff.between_tries(tries)))
            tries += 1
        return lease

    @contextmanager
    def held(
        self,
        name: str,
        *,
        holder: str,
        lease_s: float,
        count: int = 1,
        limit: int | None = None,
        wait_s: float = 0.0,
        deadline: Deadline | None = None,
    ) -> Iterator[Held | None]:
        """`acquire` for a block, and `release` at its end, also on an error; the block gets None where none is free.

        The block works until `deadline` (its own, or the lease's where that is sooner) and no longer. A release that
        the store does not answer is not raised over what the block has done: the lease lapses by itself.
        """
        lease = self.acquire(name, holder=holder, lease_s=lease_s, count=count, limit=limit, wait_s=wait_s)
        if lease is None:
            yield None
            return
        try:
            yield Held(lease=lease, deadline=self._until_it_lapses(lease, deadline=deadline))
        finally:
            self._let_go(lease)

    def renew(self, lease: Lease, *, lease_s: float) -> Lease | None:
        """The lease, until `lease_s` seconds from now; None where it is gone, and its work has to stop."""
        until_ms = self.now_ms() + int(lease_s * 1000)
        change = "SET #leases.#holder.#until_ms = :until_ms"
        if self._if_still_mine(lease, change, values={"until_ms": until_ms}):
            return replace(lease, until_ms=until_ms)
        return None

    def release(self, lease: Lease) -> None:
        """Gives this lease's permits back; does nothing where it is gone, whoever has them now."""
        change = "SET #free = #free + :count REMOVE #leases.#holder, #fences.#holder"
        self._if_still_mine(lease, change, values={"count": lease.count})

    def find(self, name: str) -> Semaphore | None:
        """The semaphore as it is now; None where nobody has asked for a permit of that name yet."""
        row = self.table.get(_key(name))
        return from_row(row, name=name) if row is not None else None

    def holders(self, name: str) -> list[Lease]:
        """Who has permits now, oldest lease first."""
        found = self.find(name)
        return found.live(self.now_ms()) if found is not None else []

    def set_limit(self, name: str, *, limit: int) -> None:
        """Changes how many permits there are; where more are out by then, none is given until enough are back."""
        check_limit(limit)
        try:
            self.table.put({**_key(name), **empty_row(limit=limit)}, when=NO_ROW)
        except ConditionFailed as refusal:
            self._change_limit(name, refusal.found, limit=limit)

    def _change_limit(self, name: str, row: Mapping[str, Any] | None, *, limit: int) -> None:
        for _ in range(_MOST_WRITES):
            if row is not None and row["limit"] == limit:
                return  # also where this very change was applied and its answer lost
            seen = row["limit"] if row is not None else 0
            try:
                self.table.update(
                    _key(name),
                    "SET #limit = :limit, #free = #free + :difference",
                    when=THE_SAME_LIMIT,
                    values={"limit": limit, "difference": limit - seen, "seen": seen},
                )
            except ConditionFailed as refusal:
                row = refusal.found
            else:
                return
        raise Contended

    def _try(self, wish: Wish) -> Lease | None:
        move: Move = Take()
        for _ in range(_MOST_WRITES):
            try:
                move = self._carry_out(move, wish=wish)
            except ConditionFailed as refusal:
                found = from_row(refusal.found, name=wish.name) if refusal.found is not None else None
                move = decide(found, wish=wish, now_ms=self.now_ms())
            if isinstance(move, Mine):
                return move.lease
            if isinstance(move, Full):
                return None
        return None

    def _carry_out(self, move: Move, *, wish: Wish) -> Move:
        """Makes the write that was decided on, and says what comes next."""
        match move:
            case Create():
                return self._create(wish)
            case Take(over=over):
                return self._take(wish, over=over)
            case Reclaim(leases=leases):
                return self._reclaim(wish, leases)
        return move

    def _create(self, wish: Wish) -> Move:
        if wish.limit is None:
            raise ConfigurationError("Nobody has said yet how many permits there are of this name.")
        if wish.limit < wish.count:
            return Full()
        row = {**_key(wish.name), **first_row(wish, limit=wish.limit, now_ms=self.now_ms())}
        self.table.put(row, when=NO_ROW)
        return _mine(row, wish=wish)

    def _take(self, wish: Wish, *, over: tuple[Lease, ...]) -> Move:
        now_ms, lapsed = self.now_ms(), Removal(leases=over, replaced=wish.holder)
        row = self.table.update(
            _key(wish.name),
            "SET #free = #free - :needed, #fence = #fence + :one, #leases.#holder = :lease, "
            f"#fences.#holder = #fence + :one{lapsed.change}",
            when=" AND ".join([ENOUGH_FREE, *([] if lapsed.replaces else [NOT_A_HOLDER]), *lapsed.clauses]),
            values={
                "needed": wish.count - lapsed.permits,
                "one": 1,
                "lease": wish.entry(now_ms),
                **lapsed.values(now_ms=now_ms),
            },
            names={"holder": wish.holder, **lapsed.names},
            returns="UPDATED_NEW" if not over else "ALL_NEW",  # the row is as long as there are holders
        )
        return _mine(row, wish=wish)

    def _reclaim(self, wish: Wish, leases: tuple[Lease, ...]) -> Move:
        now_ms, lapsed = self.now_ms(), Removal(leases=leases)
        row = self.table.update(
            _key(wish.name),
            f"SET #free = #free + :freed{lapsed.change}",
            when=" AND ".join(lapsed.clauses),
            values={"freed": lapsed.permits, **lapsed.values(now_ms=now_ms)},
            names=lapsed.names,
        )
        return decide(from_row(row, name=wish.name), wish=wish, now_ms=now_ms)

    def _if_still_mine(self, lease: Lease, change: str, *, values: Mapping[str, Any]) -> bool:
        try:
            self.table.update(
                _key(lease.name),
                change,
                when=STILL_MINE,
                values={**values, "fence": lease.fence},
                names={"holder": lease.holder},
                returns="NONE",
            )
        except ConditionFailed:
            return False
        return True

    def _until_it_lapses(self, lease: Lease, *, deadline: Deadline | None) -> Deadline:
        left_s = max(0.0, lease.until_ms / 1000 - self.clock())
        return Deadline.after(left_s) if deadline is None else deadline.within(left_s)

    def _let_go(self, lease: Lease) -> None:
        if lease.lapsed(self.now_ms()):
            logger().warning("work outlived its lease", extra={"permits": lease.name, "fence": lease.fence})
        try:
            self.release(lease)
        except (Unavailable, Contended) as error:
            logger().warning("permits not released", extra={"permits": lease.name, "error": type(error).__name__})


def _key(name: str) -> dict[str, str]:
    return {"pk": f"permits#{name}", "sk": "permits"}


def _mine(row: Mapping[str, Any], *, wish: Wish) -> Mine:
    return Mine(lease=lease_in(row, name=wish.name, holder=wish.holder))
