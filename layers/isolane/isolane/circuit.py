"""What a circuit breaker is: its states, its row, and what each call that ends makes of it.

    closed ── enough failures within the window, or the provider's own Retry-After ──> open
    open ── its time is over ──> half-open: one call at a time may try
    half-open ── the probe succeeds ──> closed
    half-open ── the probe fails ──> open

Half-open is not written down: it is an open breaker whose time is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_ANOTHERS_PROBE_S = 2.0
"""How soon to come again while somebody else's probe is under way: it is a call, and may well have ended by then."""
_THE_SAME_MS = 1_000
"""Two moments until which to stay open that differ by less are one."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    """Call."""


@dataclass(frozen=True, kw_only=True)
class Open:
    """Do not call; come again after that many seconds."""

    retry_after_s: float


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Call, as the one who tries: say with this token how it ended, or give it back."""

    token: str


@dataclass(frozen=True, kw_only=True)
class HalfOpen:
    """Somebody may try, and nobody does yet."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """When a breaker opens, and for how long."""

    failures: int = 5
    """So many failures within `window_s` open it."""
    window_s: float = 60.0
    open_s: float = 30.0
    longest_open_s: float = 3_600.0
    """A bound on what a provider's Retry-After can ask for."""
    probe_s: float = 60.0
    """A probe that has said nothing for so long is dead, and another may try."""

    def open_until_ms(self, now_ms: int, *, retry_after_s: float | None) -> int:
        seconds = self.open_s if retry_after_s is None else min(max(retry_after_s, 0.0), self.longest_open_s)
        return now_ms + int(seconds * 1000)


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """A breaker as it was when its row was read; all defaults where there is none, as nothing has failed yet."""

    failed_at_ms: tuple[int, ...] = ()
    """The failures that may still count, oldest first; never more than it takes to open."""
    open_until_ms: int | None = None
    """None: closed."""
    probe: str | None = None
    probe_until_ms: int = 0
    revision: str | None = None
    """Of the write that made it so: what the next one expects to find, and how a lost answer is recognised."""

    def verdict(self, now_ms: int) -> Closed | Open | HalfOpen:
        if self.open_until_ms is None:
            return Closed()
        if self.open_until_ms > now_ms:
            return Open(retry_after_s=(self.open_until_ms - now_ms) / 1000)
        if self.probe is not None and self.probe_until_ms > now_ms:
            return Open(retry_after_s=min((self.probe_until_ms - now_ms) / 1000, _ANOTHERS_PROBE_S))
        return HalfOpen()

    def probed(self, token: str, *, rules: Rules, now_ms: int) -> Circuit:
        """With this probe under way, if one may be."""
        if not isinstance(self.verdict(now_ms), HalfOpen):
            return self
        return replace(self, probe=token, probe_until_ms=now_ms + int(rules.probe_s * 1000))

    def failed(self, *, rules: Rules, now_ms: int, probe: str | None, retry_after_s: float | None) -> Circuit:
        """After a call failed. Once it is open, only the probe counts and what the provider asks for itself."""
        if retry_after_s is not None or (probe is not None and probe == self.probe):
            return self._opened(rules.open_until_ms(now_ms, retry_after_s=retry_after_s), now_ms=now_ms)
        if self.open_until_ms is not None:
            return self
        recent = (*(at_ms for at_ms in self.failed_at_ms if at_ms > now_ms - rules.window_s * 1000), now_ms)
        if len(recent) >= rules.failures:
            return self._opened(rules.open_until_ms(now_ms, retry_after_s=None), now_ms=now_ms)
        return replace(self, failed_at_ms=recent)

    def succeeded(self, *, probe: str) -> Circuit:
        """After a probe succeeded; one that was given up for dead changes nothing any more."""
        return Circuit(revision=self.revision) if probe == self.probe else self

    def given_back(self, *, probe: str) -> Circuit:
        """After a probe was not made at all."""
        return replace(self, probe=None, probe_until_ms=0) if probe == self.probe else self

    def _opened(self, until_ms: int, *, now_ms: int) -> Circuit:
        """Open until then, or longer where it is already; a probe under way is not listened to any more.

        Many workers that are told the same at almost the same time must not all write it.
        """
        open_until_ms = self.open_until_ms or 0
        if now_ms < open_until_ms and until_ms < open_until_ms + _THE_SAME_MS:
            return self
        return Circuit(open_until_ms=max(until_ms, open_until_ms), revision=self.revision)


def to_row(circuit: Circuit) -> dict[str, Any]:
    return {name: value for name, value in vars(circuit).items() if value is not None}


def from_row(row: Mapping[str, Any] | None) -> Circuit:
    if row is None:
        return Circuit()
    values = {name: row[name] for name in Circuit.__dataclass_fields__ if name in row}
    return Circuit(**{**values, "failed_at_ms": tuple(row["failed_at_ms"])})
