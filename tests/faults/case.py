"""One run of one flow in the lab: what it is about, and the evidence that the invariants judge."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isolane.model_errors import ModelError
from tests.faults.calls import Touch
from tests.faults.history import Change, Move
from tests.faults.picture_server import PictureServer

OWNER = "local"
WORKSHOP = "/workshops/python"
CHAIN = "builtin"
MAX_ATTEMPTS = 2
CLAIM_S = 59
PRICE = 10
"""Of a picture."""
PERMITS = 1
"""To ask a guarded model."""
VERDICTS = {"eve": 61, "mallory": 62}
"""What each reviewer makes of whatever it is; a model's scores are others, but by chance."""
LOOKS_AT_THE_CLOCK = frozenset({Touch(resource="clock", mode="read")})
"""What a step touches after which the code asks what time it is."""
Step = Callable[..., ModelError] | None
"""What the model does when it is asked: score, or fail."""


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An answer of the API that reached its caller; `text` is what it had asked to score, `who` whom it had let in."""

    asked: str
    status: int
    body: Mapping[str, Any]
    text: str | None = None
    who: str | None = None


@dataclass(kw_only=True)
class Case:
    """One run of one flow: what it is about, and the evidence that the invariants judge."""

    texts: tuple[str, str, str]
    """What is asked for, another body, and a text in two parts."""
    key: str
    script: Sequence[Step]
    """What the model does, each time it is asked; the last goes on for ever."""
    asked: list[str] = field(default_factory=list)
    """The texts that the model was asked about."""
    paid_twice: list[str] = field(default_factory=list)
    """Those whose score was kept already."""
    asked_for: list[tuple[str, ...]] = field(default_factory=list)
    """The texts for whose vectors the embedder was asked, call by call."""
    asked_ms: list[int] = field(default_factory=list)
    """When, for each of them."""
    answers: list[Answered] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    """Messages that were received before the flow starts."""
    letters: list[dict[str, Any]] = field(default_factory=list)
    """The same, for dead letters."""
    kept: frozenset[str] = frozenset()
    """The texts that are kept for reviewers, by name, at rest."""
    taken: list[list[dict[str, Any]]] = field(default_factory=list)
    """The same, for documents, each time that some were received."""
    document_ids: tuple[str, ...] = ("one", "two", "bad")
    alarms: list[dict[str, Any]] = field(default_factory=list)
    """The same, for alarms of objects."""
    provider: PictureServer = field(default_factory=PictureServer)
    pictures: dict[str, bytes | None] = field(default_factory=dict)
    """What lies where the picture of each completed task should lie, by the task's nonce, at rest."""
    cached_before: bool = False
    """Whether the text's result was in the cache from the start."""
    _moves: list[Move] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def task_id(self) -> str:
        """The task that the flow is about: the first there was."""
        return next(change.key for change in self.changes if change.table == "TasksTable")

    @property
    def ended(self) -> str:
        """The state of that task; "" where there is none."""
        rows = self.rows("TasksTable")
        return str(rows[self.task_id]["status"]) if rows else ""

    @property
    def moves(self) -> list[Move]:
        """All that happened to tasks."""
        changes = [change for change in self.changes if change.table == "TasksTable"]
        self._moves.extend(map(Move.of, changes[len(self._moves) :]))
        return self._moves

    def rows(self, table: str) -> dict[str, Mapping[str, Any]]:
        """The rows of a table as they are now, by key."""
        last = {change.key: change.after for change in self.changes if change.table == table}
        return {key: row for key, row in last.items() if row is not None}

    def documents(self, which: int) -> list[dict[str, str]]:
        """The documents that are handed in: their texts are of this case, and of this time of handing in."""
        return [{"id": name, "text": f"{name}, version {which} of {self.key}"} for name in self.document_ids]

    def handed_in(self) -> Iterator[tuple[str, str, str]]:
        """Batch, id and text of each document of which its owner was told."""
        for answer in self.answers:
            if answer.asked.startswith("embed") and answer.status == 202:
                for document in self.documents(int(answer.asked.split()[1])):
                    yield answer.body["batchId"], document["id"], document["text"]

    def note(self, answered: Answered) -> Answered:
        """Keeps an answer as evidence."""
        self.answers.append(answered)
        return answered
