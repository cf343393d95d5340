"""Who may call a model now: its breaker is closed, nobody is at the same text, and one of its permits is free.

Asked before a task is claimed, in this order: breaker, flight, permit. A worker that may not call defers its message
with all its attempts. In a fallback chain the scorers are asked in order: where the first may not be called, the next
one is. For an average all are: who fails (an open breaker) is left out, who is merely full is waited for. `builtin` may
always be called, and needs no flight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from uuid import uuid4

from isolane.breaker import Breaker
from isolane.circuit import Open, Probe
from isolane.deadline import Deadline
from isolane.delivery import Deferral
from isolane.errors import IsolaneError
from isolane.flight import Airborne, Boarded, Flight, Landed
from isolane.model_errors import ModelBusy, ModelError, ModelNotAsked
from isolane.permits import Permits
from scoring.policy_name import Policy
from scoring.prompt import Form
from scoring.score import Score
from scoring.scorers import ModelScorer, Scorer

LEASE_MARGIN_S = 2.0
"""How much longer than its call a permit or a flight is held: work stops before its lease does."""

Board = Callable[[], AbstractContextManager[Boarded]]


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """Those of the chain that may be called, in their order."""

    scorers: tuple[Scorer, ...] = ()
    flight: Flight | None = None
    """What others wait for: the score is to land there."""
    landed: Landed | None = None
    """The score itself, where another has made it: nobody has to be called."""


@dataclass(frozen=True, kw_only=True)
class Guards:
    """What stands before each model of a chain."""

    breaker: Breaker
    permits: Permits
    limit: int
    """Permits for each model, for when its semaphore is made; later an admin changes it. 0: no semaphore."""

    @contextmanager
    def admitted(
        self, scorers: Sequence[Scorer], *, policy: Policy, board: Board | None, deadline: Deadline
    ) -> Iterator[Admitted | Deferral]:
        """Those that may be called, with all that they need; or the score, made by another; or when to come again.

        `board` takes the text's flight, once, where a model is to be called; None where equal texts are no matter.
        """
        with ExitStack() as taken:
            entrance = _Entrance(guards=self, taken=taken, board=board, deadline=deadline)
            yield entrance.all(scorers) if policy is Policy.AVERAGE else entrance.first(scorers)

    def checked(self, scorer: Scorer) -> Scorer | Deferral:
        """The scorer, its model watched by its breaker; or when the breaker lets it be called again."""
        if not isinstance(scorer, ModelScorer):
            return scorer
        verdict = self.breaker.check(scorer.name)
        if isinstance(verdict, Open):
            return Deferral(after_s=verdict.retry_after_s)
        return WatchedScorer(scorer, self.breaker, verdict if isinstance(verdict, Probe) else None)

    @contextmanager
    def permitted(self, watched: WatchedScorer, *, deadline: Deadline) -> Iterator[Scorer | Deferral]:
        """The scorer with a permit for as long as the block runs; or when to come again."""
        if self.limit == 0:
            yield watched
            return
        lease_s = deadline.left_s() + LEASE_MARGIN_S
        with self.permits.held(watched.name, holder=uuid4().hex, lease_s=lease_s, limit=self.limit) as held:
            if held is None:
                watched.not_called()
                yield Deferral()
            else:
                yield watched

    @contextmanager
    def entered(self, scorer: Scorer, *, deadline: Deadline) -> Iterator[Scorer | Deferral]:
        """Breaker and permit at once: for a scorer whose turn comes later, when the flight is taken."""
        checked = self.checked(scorer)
        if not isinstance(checked, WatchedScorer):
            yield checked
            return
        with self.permitted(checked, deadline=deadline) as entered:
            yield entered


@dataclass(kw_only=True)
class _Entrance:
    """One delivery on its way in."""

    guards: Guards
    taken: ExitStack
    board: Board | None
    deadline: Deadline
    flight: Flight | None = field(default=None, init=False)

    def first(self, scorers: Sequence[Scorer]) -> Admitted | Deferral:
        refused: list[Deferral] = []
        for position, scorer in enumerate(scorers):
            entered = self._enter(self.guards.checked(scorer))
            if isinstance(entered, Landed | Airborne):
                return _anothers(entered)
            if not isinstance(entered, Deferral):
                later = (LaterScorer(scorer=other, guards=self.guards) for other in scorers[position + 1 :])
                return Admitted(scorers=(entered, *later), flight=self.flight)
            refused.append(entered)
        return min(refused, key=_wait_s)

    def all(self, scorers: Sequence[Scorer]) -> Admitted | Deferral:
        checked = [self.guards.checked(scorer) for scorer in scorers]
        there = [scorer for scorer in checked if not isinstance(scorer, Deferral)]
        if not there:
            return min((refusal for refusal in checked if isinstance(refusal, Deferral)), key=_wait_s)
        admitted: list[Scorer] = []
        for scorer in there:
            entered = self._enter(scorer)
            if isinstance(entered, Landed | Airborne | Deferral):
                _none_called(there)
                return entered if isinstance(entered, Deferral) else _anothers(entered)
            admitted.append(entered)
        return Admitted(scorers=tuple(admitted), flight=self.flight)

    def _enter(self, checked: Scorer | Deferral) -> Scorer | Deferral | Landed | Airborne:
        if not isinstance(checked, WatchedScorer):
            return checked
        if self.board is not None and self.flight is None:
            boarded = self.taken.enter_context(self.board())
            if not isinstance(boarded, Flight):
                checked.not_called()
                return boarded
            self.flight = boarded
        return self.taken.enter_context(self.guards.permitted(checked, deadline=self.deadline))


class WatchedScorer:
    """A model whose breaker is told how its calls ended."""

    def __init__(self, scorer: ModelScorer, breaker: Breaker, probe: Probe | None) -> None:
        self.name = scorer.name
        self.longest = scorer.longest
        self._scorer = scorer
        self._breaker = breaker
        self._probe = probe

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:
        """The model's score. Only a model that is busy has failed: one that refuses is there."""
        try:
            score = self._scorer.score(text, deadline=deadline, form=form)
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
        probe, self._probe = self._probe, None
        if probe is not None:
            with suppress(IsolaneError):  # a probe that is not made lapses by itself
                self._breaker.give_back(self.name, probe)

    def _failed(self, busy: ModelBusy) -> None:
        if not busy.requests or isinstance(busy, ModelNotAsked):  # nobody is to blame
            self.not_called()
            return
        probe, self._probe = self._probe, None
        with suppress(IsolaneError):  # what is not told now, the next failure tells
            self._breaker.failed(self.name, probe=probe, retry_after_s=busy.retry_after_s)

    def _succeeded(self) -> None:
        probe, self._probe = self._probe, None  # told once: a long text is many calls
        with suppress(IsolaneError):
            self._breaker.succeeded(self.name, probe=probe)


@dataclass(frozen=True, kw_only=True)
class LaterScorer:
    """A scorer further down the chain, which enters when its turn comes."""

    scorer: Scorer
    guards: Guards

    @property
    def name(self) -> str:
        return self.scorer.name

    @property
    def longest(self) -> int | None:
        return self.scorer.longest

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:
        """Its score, or ModelBusy without a request where it may not be called now."""
        with self.guards.entered(self.scorer, deadline=deadline) as entered:
            if isinstance(entered, Deferral):
                raise ModelBusy("The model may not be called now.", retry_after_s=entered.after_s)
            return entered.score(text, deadline=deadline, form=form)


def _anothers(flight: Landed | Airborne) -> Admitted | Deferral:
    return Admitted(landed=flight) if isinstance(flight, Landed) else Deferral()


def _none_called(scorers: Sequence[Scorer]) -> None:
    for scorer in scorers:
        if isinstance(scorer, WatchedScorer):
            scorer.not_called()


def _wait_s(deferral: Deferral) -> float:
    return deferral.after_s if deferral.after_s is not None else math.inf
