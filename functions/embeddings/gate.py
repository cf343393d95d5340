"""What stands before a model that makes vectors: its breaker, its permits, and its rate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from isolane.circuit import Open, Probe
from isolane.errors import IsolaneError
from isolane.model_errors import ModelBusy, ModelNotAsked

if TYPE_CHECKING:
    from embeddings.embedders import Embedded, Embedder
    from isolane.breaker import Breaker
    from isolane.deadline import Deadline
    from isolane.permits import Permits

LEASE_MARGIN_S = 2.0
"""How much longer than its calls a permit is held: work stops before its lease does."""


@dataclass(frozen=True)
class Gate:
    """An embedder that is asked only while its breaker is closed, and by so many at once; else ModelNotAsked for all.

    Raises Unavailable and Contended where nobody can say whether a permit is free: then there is none.
    """

    embedder: Embedder
    breaker: Breaker
    permits: Permits
    limit: int
    """Permits, for when the semaphore is made; later an admin changes it."""
    wait_s: float = 0.0
    """How long to wait on the spot for a permit."""
    is_remote: bool = True

    @property
    def name(self) -> str:
        return self.embedder.name

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        """One result for each text, in their order."""
        verdict = self.breaker.check(self.name)
        if isinstance(verdict, Open):
            return [ModelNotAsked(retry_after_s=verdict.retry_after_s)] * len(texts)
        found = self._permitted(texts, deadline=deadline)
        with suppress(IsolaneError):  # what is not told now, the next failure tells; a probe lapses by itself
            self._tell(found, probe=verdict if isinstance(verdict, Probe) else None)
        return found

    def _permitted(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:
        lease_s = deadline.left_s() + LEASE_MARGIN_S
        with self.permits.held(
            self.name, holder=uuid4().hex, lease_s=lease_s, limit=self.limit, wait_s=self.wait_s, deadline=deadline
        ) as held:
            if held is None:
                return [ModelNotAsked()] * len(texts)
            return self.embedder.embed(texts, deadline=held.deadline)

    def _tell(self, found: Sequence[Embedded], *, probe: Probe | None) -> None:
        """Only a model that is busy has failed: one that refuses a text is there."""
        asked = [each for each in found if not isinstance(each, ModelNotAsked)]
        busy = [each for each in asked if isinstance(each, ModelBusy)]
        if busy:
            self.breaker.failed(self.name, probe=probe, retry_after_s=busy[0].retry_after_s)
        elif asked:
            self.breaker.succeeded(self.name, probe=probe)
        elif probe is not None:
            self.breaker.give_back(self.name, probe)
