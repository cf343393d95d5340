"""Who may call a model now: its breaker is closed, and one of its permits is free. Asked before a task is claimed.

A worker that may not call defers its message with all its attempts. The scorers of a chain are asked in order: where
the first may not be called, the next one is. `builtin` may always be called.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from isolane.breaker import Breaker
from isolane.circuit import Open, Probe
from isolane.deadline import Deadline
from isolane.delivery import Deferral
from isolane.errors import IsolaneError
from isolane.model_errors import ModelBusy, ModelError
from isolane.permits import Permits
from scoring.score import Score
from scoring.scorers import ModelScorer, Scorer

_LEASE_MARGIN_S = 2.0
"""How much longer than its call a permit is held: work stops before its lease does."""


@dataclass(frozen=True, kw_only=True)
class Guards:
    """What stands before each model of a chain."""

    breaker: Breaker
    permits: Permits
    limit: int
    """Permits for each model, for when its semaphore is made; later an admin changes it. 0: no semaphore."""

    @contextmanager
    def admitted(self, scorers: Sequence[Scorer], *, deadline: Deadline) -> Iterator[tuple[Scorer, ...] | Deferral]:
        """Those of the chain that may be called, all taken for the first of them; or when to come again."""
        refused: list[Deferral] = []
        with ExitStack() as taken:
            for position, scorer in enumerate(scorers):
                entered = taken.enter_context(self.entered(scorer, deadline=deadline))
                if not isinstance(entered, Deferral):
                    later = (LaterScorer(scorer=other, guards=self) for other in scorers[position + 1 :])
                    yield (entered, *later)
                    return
                refused.append(entered)
            yield min(refused, key=_wait_s)

    @contextmanager
    def entered(self, scorer: Scorer, *, deadline: Deadline) -> Iterator[Scorer | Deferral]:
        """The scorer with all taken that it needs, for as long as the block runs; or when to come again."""
        if not isinstance(scorer, ModelScorer):
            yield scorer
            return
        verdict = self.breaker.check(scorer.name)
        if isinstance(verdict, Open):
            yield Deferral(after_s=verdict.retry_after_s)
            return
        watched = WatchedScorer(scorer, self.breaker, verdict if isinstance(verdict, Probe) else None)
        with self._permitted(watched, deadline=deadline) as entered:
            yield entered

    @contextmanager
    def _permitted(self, watched: WatchedScorer, *, deadline: Deadline) -> Iterator[Scorer | Deferral]:
        if self.limit == 0:
            yield watched
            return
        lease_s = deadline.left_s() + _LEASE_MARGIN_S
        with self.permits.held(watched.name, holder=uuid4().hex, lease_s=lease_s, limit=self.limit) as held:
            if held is None:
                watched.not_called()
                yield Deferral()
            else:
                yield watched


class WatchedScorer:
    """A model whose breaker is told how its call ended."""

    def __init__(self, scorer: ModelScorer, breaker: Breaker, probe: Probe | None) -> None:
        self.name = scorer.name
        self._scorer = scorer
        self._breaker = breaker
        self._probe = probe

    def score(self, text: str, *, deadline: Deadline) -> Score:
        """The model's score. Only a model that is busy has failed: one that refuses is there."""
        try:
            score = self._scorer.score(text, deadline=deadline)
        except ModelBusy as busy:
            self._failed(busy)
            raise
        except ModelError:
            self._succeeded()
            raise
        self._succeeded()
        return score

    def not_called(self) -> None:
        """Lets another try in its place."""
        if self._probe is not None:
            with suppress(IsolaneError):  # a probe that is not made lapses by itself
                self._breaker.give_back(self.name, self._probe)

    def _failed(self, busy: ModelBusy) -> None:
        if not busy.requests:
            self.not_called()
            return
        with suppress(IsolaneError):  # what is not told now, the next failure tells
            self._breaker.failed(self.name, probe=self._probe, retry_after_s=busy.retry_after_s)

    def _succeeded(self) -> None:
        with suppress(IsolaneError):
            self._breaker.succeeded(self.name, probe=self._probe)


@dataclass(frozen=True, kw_only=True)
class LaterScorer:
    """A scorer further down the chain, which enters when its turn comes."""

    scorer: Scorer
    guards: Guards

    @property
    def name(self) -> str:
        return self.scorer.name

    def score(self, text: str, *, deadline: Deadline) -> Score:
        """Its score, or ModelBusy without a request where it may not be called now."""
        with self.guards.entered(self.scorer, deadline=deadline) as entered:
            if isinstance(entered, Deferral):
                raise ModelBusy("The model may not be called now.", retry_after_s=entered.after_s)
            return entered.score(text, deadline=deadline)


def _wait_s(deferral: Deferral) -> float:
    return deferral.after_s if deferral.after_s is not None else math.inf
