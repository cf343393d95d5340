"""The scores of a long text's parts, kept so that whoever goes on with it pays for none of them twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isolane.errors import Contended, Unavailable
from isolane.kv import Values, content_key
from isolane.observability import logger
from isolane.task import UNFINISHED_S
from scoring.prompt import Form
from scoring.score import Score
from scoring.versions import PROMPT_VERSION

KEPT_S = UNFINISHED_S
"""As long as the task may go on."""


@dataclass(frozen=True, kw_only=True)
class KeptScores:
    """What one owner's texts were given by one scorer, part by part.

    The key names the scorer rather than its chain: the score is that scorer's, whoever else was asked before it.
    """

    values: Values
    owner: str
    scope: str = ""
    """Whose they are beside the owner; a task's, where nothing is to be answered from what another task has paid."""

    def find(self, texts: Iterable[str], *, scorer: str, form: Form) -> dict[str, Score]:
        """The scores that are there, by their texts, with one read."""
        wanted = {text: self._key(text, scorer=scorer, form=form) for text in texts}
        found = self.values.get_many(list(wanted.values()))
        return {text: _score(found[key]) for text, key in wanted.items() if key in found}

    def keep(self, text: str, score: Score, *, scorer: str, form: Form) -> None:
        """Keeps a validated score. Where the store does not take it, the work goes on all the same: it has it."""
        value = {"score": score.score, "dimensions": dict(score.dimensions), "comments": list(score.comments)}
        try:
            self.values.put(self._key(text, scorer=scorer, form=form), value, ttl_s=KEPT_S)
        except (Unavailable, Contended) as error:
            logger().warning("a part's score was not kept", extra={"error": type(error).__name__})

    def _key(self, text: str, *, scorer: str, form: Form) -> str:
        return content_key(f"score-{form.name.lower()}", self.owner, text, scorer, PROMPT_VERSION, self.scope)


def _score(value: Any) -> Score:
    return Score(score=value["score"], dimensions=value["dimensions"], comments=tuple(value["comments"]))
