"""The models of the lab: each does as its case says, and notes that it was asked."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from embeddings.embedders import Embedded
from isolane.deadline import Deadline
from isolane.model_errors import InputTooLong, ModelBusy
from scoring.kept import KeptScores
from scoring.prompt import Form, Prompt
from scoring.score import Score
from tests.doubles.scripted_model import verdict
from tests.faults.case import LOOKS_AT_THE_CLOCK, OWNER, Step
from tests.faults.right_answers import score_of, vector_of
from tests.faults.stage import Turn

if TYPE_CHECKING:
    from tests.faults.lab import Lab


class Model:
    """A scorer that does as the case says, and gives each text a score of its own."""

    name = "model"
    longest: int | None = None

    def __init__(self, lab: "Lab") -> None:
        self._lab = lab
        self.turn: Turn | None = None
        """Whose step it is to ask; None outside of a race."""

    def score(self, text: str, *, deadline: Deadline, form: Form = Form.WHOLE) -> Score:  # noqa: ARG002 - it answers at once
        if self.turn is not None:
            self.turn.do("the model is asked", lambda: self._ask(text), touches=LOOKS_AT_THE_CLOCK)
        else:
            self._ask(text)
        script = self._lab.case.script
        step = script[min(len(self._lab.case.asked), len(script)) - 1]
        if step is not None:
            raise step(requests=1)
        return Score(score=score_of(text), dimensions={"all": score_of(text)}, comments=("Fine.",))

    def asked_for(self, texts: Sequence[str]) -> Step:
        """What it is to do with texts of which it is asked for vectors."""
        if self.turn is not None:
            self.turn.do("the embedder is asked", lambda: self._note(texts), touches=LOOKS_AT_THE_CLOCK)
        else:
            self._note(texts)
        script = self._lab.case.script
        return script[min(len(self._lab.case.asked_for), len(script)) - 1]

    def _note(self, texts: Sequence[str]) -> None:
        self._lab.case.asked_for.append(tuple(texts))

    def _ask(self, text: str) -> None:
        case = self._lab.case
        if kept_scores(self._lab).find([text], scorer=self.name, form=Form.PART):
            case.paid_twice.append(text)
        case.asked.append(text)
        self._lab.case.asked_ms.append(int(self._lab.clock() * 1000))


class LabEmbedder:
    """Makes vectors as the case says: each call of it is one step of the script."""

    name = "embedder"
    is_remote = True

    def __init__(self, model: Model) -> None:
        self._model = model

    def embed(self, texts: Sequence[str], *, deadline: Deadline) -> list[Embedded]:  # noqa: ARG002 - it answers at once
        step = self._model.asked_for(texts)
        if step is None:
            return [vector_of(text) for text in texts]
        error = step(requests=1)
        alone = isinstance(error, InputTooLong)
        return [error if not alone or text.startswith("bad") else vector_of(text) for text in texts]


class PromptedModel:
    """The same behind a prompt: a scorer over it is a model's, so that a breaker, a flight and permits guard it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        text = "\n".join(prompt.user.splitlines()[1:-1])
        if text.startswith("Part 1: "):
            return json.dumps(verdict(0, nonce=prompt.nonce))  # of a summary only the comments count
        score = self._model.score(text, deadline=deadline)
        return json.dumps(verdict(score.score, nonce=prompt.nonce))


class BusyModel:
    """A model that never answers, so that the next of the chain has to."""

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:  # noqa: ARG002 - it says no at once
        raise ModelBusy


def kept_scores(lab: "Lab") -> KeptScores:
    return KeptScores(values=lab.aws.app.world.values, owner=OWNER)
