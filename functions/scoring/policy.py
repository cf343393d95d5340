"""Whose score it is: that of the first scorer that answers, or the average of all that answer.

In either, a scorer that is busy, rejects the request or finds the text too long has not answered, and is passed over; a
refusal and a reply that cannot be read are final, for a second opinion must not overrule them unseen. An average of
fewer than all is a score like any other, names who answered, and is cached as briefly as a fallback's. Where nobody
answers, the outcome is the most hopeful one: a busy scorer's, who may answer the next time.
"""

from __future__ import annotations

from collections.abc import Sequence

from isolane.deadline import Deadline
from isolane.model_errors import ModelError
from scoring.chain import Scored, counted, in_time, most_hopeful, requests_of, score_with_chain
from scoring.policy_name import Policy
from scoring.score import Score, weighted_mean
from scoring.scorers import Scorer


def score_by(policy: Policy, text: str, *, scorers: Sequence[Scorer], deadline: Deadline) -> Scored:
    """The text's score. Raises a ModelError where there is none."""
    if policy is Policy.AVERAGE:
        return average(text, scorers=scorers, deadline=deadline)
    return score_with_chain(text, scorers=scorers, deadline=deadline)


def wanted(policy: Policy, scorers: Sequence[Scorer]) -> str:
    """Who answers where nobody fails, as a result names them."""
    return _names(scorers if policy is Policy.AVERAGE else scorers[:1])


def average(text: str, *, scorers: Sequence[Scorer], deadline: Deadline) -> Scored:
    """The mean of the scores of all that answer, each with the same weight; their comments, each once."""
    answers: list[tuple[Scorer, Score]] = []
    failures: list[ModelError] = []
    for scorer in scorers:
        try:
            answers.append((scorer, in_time(scorer, text, deadline=deadline)))
        except ModelError as error:
            failures.append(error)
            if not error.another_may_answer:
                raise counted(error, requests=_requests(answers, failures)) from None
    if not answers:
        raise counted(most_hopeful(failures), requests=requests_of(failures))
    scores = [score for _, score in answers]
    comments = tuple(dict.fromkeys(comment for score in scores for comment in score.comments))
    requests = _requests(answers, failures)
    mean = weighted_mean([(1, score) for score in scores], comments=comments, requests=requests)
    names = _names([scorer for scorer, _ in answers])
    return Scored(score=mean, model=names, fallback=bool(failures), requests=requests)


def _names(scorers: Sequence[Scorer]) -> str:
    return ",".join(scorer.name for scorer in scorers)


def _requests(answers: Sequence[tuple[Scorer, Score]], failures: Sequence[ModelError]) -> int:
    return sum(score.requests for _, score in answers) + requests_of(failures)
