"""Whether a human has to look at a score: decided from the text and the score alone."""

from __future__ import annotations

import pytest

from scoring.chain import Scored
from scoring.review import LOW_SCORE, SUSPECTED_INJECTION, reason_for_review
from scoring.score import Score
from tests.corpus import benign, injections


def scored(mark: int, *, model: str = "openai:a") -> Scored:
    score = Score(score=mark, dimensions={"all": mark}, comments=("Fine.",))
    return Scored(score=score, model=model, fallback=False, requests=1)


@pytest.mark.parametrize(("mark", "below", "waits"), [(39, 40, True), (40, 40, False), (0, 0, False), (100, 101, True)])
@pytest.mark.parametrize("model", ["openai:a", "builtin-rubric"])
def test_a_score_under_the_limit_waits_whoever_gave_it(mark: int, below: int, waits: bool, model: str) -> None:
    reason = reason_for_review(text="A dog.", scored=scored(mark, model=model), below=below)
    assert reason == (LOW_SCORE if waits else None)


@pytest.mark.parametrize("mark", [0, 100])
def test_a_suspected_text_waits_whatever_its_score(mark: int) -> None:
    for text in injections():
        assert reason_for_review(text=text["text"], scored=scored(mark), below=40) == SUSPECTED_INJECTION


def test_a_text_that_only_speaks_of_marks_does_not() -> None:
    for text in benign():
        assert reason_for_review(text=text["text"], scored=scored(100), below=40) is None
