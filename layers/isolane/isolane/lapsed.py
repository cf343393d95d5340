"""How lapsed leases are removed: by a write that names each one exactly, so that only what was seen lapsed goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isolane.semaphore import SKEW_MS, Lease, permits_of

# The clauses of the condition, once for each lease, each with the race that it closes.

THE_SAME_LEASE = "#fences.#{0} = :{0}"
"""A lease that was seen lapsed, released in the meantime and taken anew by the same holder."""
STILL_LAPSED = "#leases.#{0}.#until_ms <= :lapsed_ms"
"""A lease that was seen lapsed and renewed in the meantime."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """The parts of a write that removes these leases."""

    leases: tuple[Lease, ...] = ()
    replaced: str | None = None
    """The holder whose own lapsed lease is among them: the write puts its new one in the same place."""

    @property
    def permits(self) -> int:
        return permits_of(self.leases)

    @property
    def replaces(self) -> bool:
        return any(lease.holder == self.replaced for lease in self.leases)

    @property
    def clauses(self) -> list[str]:
        return [clause.format(alias) for alias, _ in self._aliased() for clause in (THE_SAME_LEASE, STILL_LAPSED)]

    @property
    def change(self) -> str:
        """The end of an update expression; empty where there is nothing to remove."""
        gone = [alias for alias, lease in self._aliased() if lease.holder != self.replaced]
        return f" REMOVE {', '.join(f'#leases.#{alias}, #fences.#{alias}' for alias in gone)}" if gone else ""

    @property
    def names(self) -> dict[str, str]:
        return {alias: lease.holder for alias, lease in self._aliased()}

    def values(self, *, now_ms: int) -> dict[str, int]:
        return {"lapsed_ms": now_ms - SKEW_MS, **{alias: lease.fence for alias, lease in self._aliased()}}

    def _aliased(self) -> Iterator[tuple[str, Lease]]:
        return ((f"lapsed{number}", lease) for number, lease in enumerate(self.leases))
