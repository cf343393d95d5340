"""A scorer for texts of any length around one that takes only so much at once: part by part, and put together.

The whole's marks are the means of the parts', by their length. Its comments come from one request more, which is given
what was said of the parts. Whatever was scored is kept, so that the next delivery begins where this one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from isolane.deadline import Deadline
from isolane.model_errors import ModelBusy, ModelError
from scoring.cutting import fits, parts_of
from scoring.kept import KeptScores
from scoring.prompt import Form
from scoring.replies import MOST_COMMENTS
from scoring.score import Score, weighted_mean
from scoring.scorers import Scorer

GO_ON_S = 1.0
"""How soon a text is gone on with whose time was over."""


class PartsLeft(ModelBusy):
    """Not all parts are scored yet, and the time of this delivery is over."""

    another_may_answer = False


@dataclass(kw_only=True)
class Stint:
    """What one delivery gets done of a long text."""

    step_s: float
    """The longest that one part may take: with less left, no further one is begun."""
    tell: Callable[[int, int], bool] = lambda _done, _of: True
    """Is told the parts done and the parts in all; says whether to go on."""
    passes: int = 1
    """How many scorers read the text: all of them, for an average."""
    behind: int = 0
    """Parts that those before this one have done."""
    requests: int = 0
    finished: int = 0
    """Parts that were scored in this delivery and are kept: it has not been for nothing."""

    def go_on(self, *, deadline: Deadline) -> None:
        """Raises PartsLeft where what comes next is better left to another delivery."""
        if self.finished > 0 and deadline.left_s() < self.step_s:
            raise PartsLeft(retry_after_s=GO_ON_S)

    def report(self, done: int, *, of: int) -> None:
        """Raises PartsLeft where nobody wants the rest any more."""
        if not self.tell(self.behind + done, self.passes * of):
            raise PartsLeft(retry_after_s=GO_ON_S)

    def end_of_pass(self, parts: int) -> None:
        if self.passes > 1:
            self.behind += parts


@dataclass(frozen=True, kw_only=True)
class LongTextScorer:
    """The same scorer, for texts of any length."""

    scorer: Scorer
    kept: KeptScores
    stint: Stint
    longest: int | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        return self.scorer.name

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:
        """The text's score; PartsLeft where it takes another delivery. The requests are those of this one."""
        if self.scorer.longest is None or len(text) <= self.scorer.longest:
            return self.scorer.score(text, deadline=deadline, form=form)
        before = self.stint.requests
        try:
            whole = self._in_parts(parts_of(text), deadline=deadline)
        except ModelError as error:
            error.requests += self.stint.requests - before
            raise
        return weighted_mean([(1, whole)], comments=whole.comments, requests=self.stint.requests - before)

    def _in_parts(self, parts: Sequence[str], *, deadline: Deadline) -> Score:
        scores = self._scores(parts, deadline=deadline)
        weighted = [(len(part), scores[part]) for part in parts]
        whole = weighted_mean(weighted, comments=(), requests=0)
        return weighted_mean([(1, whole)], comments=self._comments(weighted, deadline=deadline), requests=0)

    def _scores(self, parts: Sequence[str], *, deadline: Deadline) -> dict[str, Score]:
        found = self.kept.find(parts, scorer=self.name, form=Form.PART)
        if len(found) < len(set(parts)):
            self.stint.report(_done(parts, found), of=len(parts))
        for part in parts:
            if part not in found:
                found[part] = self._ask(part, form=Form.PART, deadline=deadline)
                self.stint.finished += 1
                self.stint.report(_done(parts, found), of=len(parts))
        self.stint.end_of_pass(len(parts))
        return found

    def _comments(self, weighted: Sequence[tuple[int, Score]], *, deadline: Deadline) -> tuple[str, ...]:
        """Comments for the whole: the scorer's own, and where it cannot be had for them, some of the parts'."""
        if len(weighted) == 1:
            return weighted[0][1].comments
        said = what_was_said([score for _, score in weighted])
        found = self.kept.find([said], scorer=self.name, form=Form.SUMMARY)
        try:
            summary = found[said] if said in found else self._ask(said, form=Form.SUMMARY, deadline=deadline)
        except ModelError as error:
            if error.retryable:
                raise
            self.stint.requests += error.requests
            return _spread([score.comments[0] for _, score in weighted if score.comments])
        return summary.comments

    def _ask(self, text: str, *, form: Form, deadline: Deadline) -> Score:
        self.stint.go_on(deadline=deadline)
        score = self.scorer.score(text, deadline=deadline, form=form)
        self.stint.requests += score.requests
        self.kept.keep(text, score, scorer=self.name, form=form)
        return score


def what_was_said(scores: Sequence[Score]) -> str:
    """The parts' marks and comments for the summary: first comments first, as many as one request holds."""
    said = [[f"Part {number}: {score.score} of 100."] for number, score in enumerate(scores, start=1)]
    for rank in range(MOST_COMMENTS):
        for lines, score in zip(said, scores, strict=True):
            if rank < len(score.comments):
                lines.append(score.comments[rank])
                if not fits(_laid_out(said)):
                    lines.pop()
                    return _laid_out(said)
    return _laid_out(said)


def _laid_out(said: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in said)


def _done(parts: Sequence[str], found: dict[str, Score]) -> int:
    return sum(part in found for part in parts)


def _spread(comments: Sequence[str]) -> tuple[str, ...]:
    """At most as many as a verdict has, from beginning, middle and end."""
    step = max(1, -(-len(comments) // MOST_COMMENTS))
    return tuple(comments[::step])
