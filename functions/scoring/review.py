"""Whether a human has to look at a score before it counts."""

from __future__ import annotations

from isolane.task import Problem
from scoring.chain import Scored
from scoring.guard import suspicion

SUSPECTED_INJECTION = Problem(
    code="suspected_injection", message="The text seems to dictate its own score; a human will look at it."
)
LOW_SCORE = Problem(code="low_score", message="The score is so low that a human will look at it.")


def reason_for_review(*, text: str, scored: Scored, below: int) -> Problem | None:
    """Why the score is provisional; None where it counts. Whoever scored, a model or not.

    A suspected text has been scored all the same: the guard may be wrong, and then the score only has to be confirmed.
    """
    if suspicion(text) is not None:
        return SUSPECTED_INJECTION
    return LOW_SCORE if scored.score.score < below else None
