"""The product in the lab: its parts over clients that can be struck, and around them what AWS does by itself.

    lab = Lab.furnished()
    case = lab.begin()
    case.note(lab.seats[0].submit(case))     # a caller; its answer is evidence
    lab.rest()                               # messages are delivered, and again, until nothing moves
    check(case)                              # invariants.py

Tables and queues are kept from case to case, emptied; each case has texts, keys and so tasks of its own.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from embeddings.embedders import Embedded
from isolane.alarms import DUE
from isolane.backlog import LOOK_EVERY_S, Backlog
from isolane.deadline import Deadline
from isolane.errors import Refused
from isolane.json_edge import digest
from isolane.model_errors import InputTooLong, ModelBusy, ModelError
from isolane.observability import logger
from isolane.similarity import Vector, unit
from isolane.task import Status, as_json, text_name
from scoring.api import KIND
from scoring.cache import cache_key
from scoring.kept import KeptScores
from scoring.prompt import Form, Prompt
from scoring.score import Score
from scoring.scorers import ModelScorer, Scorer
from tests.application import Application, delete
from tests.doubles.scripted_model import verdict
from tests.faults.calls import KeyNames, Touch, key_names
from tests.faults.clients import new_client
from tests.faults.history import Change, Move, forget_rows, record_changes, take_changes
from tests.faults.stage import Turn
from tests.faults.visibility import forget_messages, pass_queue_time, seconds_until_seen
from tests.world import Clock, World, receive

OWNER = "local"
WORKSHOP = "/workshops/python"
CHAIN = "builtin"
MAX_ATTEMPTS = 2
CLAIM_S = 59
PERMITS = 1
"""To ask a guarded model."""
_TABLES = ("TasksTable", "StateTable", "ValuesTable")
_SERVICES = ("dynamodb", "sqs", "s3")
_SIGNED = ("s3",)
"""moto lets nobody write over an object without a signature; the others are quicker without."""
_MOST_SEATS = 5
VERDICTS = {"eve": 61, "mallory": 62}
"""What each reviewer makes of whatever it is; a model's scores are others, but by chance."""
_MOST_DELIVERIES = 16

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


@dataclass(kw_only=True)
class Seat:
    """One process: clients of its own, and the application over them."""

    lab: "Lab"
    clients: Mapping[str, Any] = field(
        default_factory=lambda: {name: new_client(name, signed=name in _SIGNED) for name in _SERVICES}
    )

    @cached_property
    def model(self) -> Model:
        return Model(self.lab)

    @cached_property
    def app(self) -> Application:
        world = World(client=lambda service: self.clients[service], clock=self.lab.clock, suffix=self.lab.suffix)
        changes = {
            "POOL_SIZE": "1",
            "MAX_RETRIES": str(MAX_ATTEMPTS - 1),
            "MODEL_CONCURRENCY": str(PERMITS),
        }
        app = Application(
            world, scorers=self._scorers, embedder=LabEmbedder(self.model), changes=changes, sleep=lambda _: None
        )
        app.bindings.embed_backlog = _without_a_memory(app.bindings.embed_backlog)
        return app

    @property
    def _scorers(self) -> tuple[Scorer, ...]:
        if self.lab.falls_back:
            return (ModelScorer("busy", BusyModel()), self.model)
        return (ModelScorer(self.model.name, PromptedModel(self.model)) if self.lab.guarded else self.model,)

    def submit(self, case: Case, *, key: str | None = None, text: str | None = None) -> Answered:
        """A caller's POST /score."""
        text = text if text is not None else case.text
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self._call(f"submit {key}", "POST", "/score", text=text, body={"text": text}, headers=headers)

    def read(self, task_id: str) -> Answered:
        """A caller's GET /result."""
        return self._call(f"read {task_id}", "GET", "/result", query={"taskId": task_id})

    def cancel(self, task_id: str) -> Answered:
        """A caller's DELETE /tasks/{taskId}."""
        return self._call(f"cancel {task_id}", "DELETE", f"/tasks/{task_id}")

    def page(self, *, limit: int, cursor: str | None = None) -> Answered:
        """A caller's GET /tasks."""
        query = {"limit": str(limit), **({"cursor": cursor} if cursor is not None else {})}
        return self._call("list", "GET", "/tasks", query=query)

    def take_reviews(self, reviewer: str) -> None:
        """A reviewer's GET /admin/reviews, past the token."""
        self.app.bindings.reviews.take(reviewer=reviewer, limit=10)

    def judge(self, task_id: str, reviewer: str) -> Answered:
        """A reviewer's POST /admin/reviews/{taskId}, past the token."""
        result = {"score": VERDICTS[reviewer], "dimensions": {}, "comments": ["Fine."]}
        asked = f"judge {reviewer}"
        try:
            task = self.app.bindings.tasks.judge(task_id, reviewer=reviewer, result=result, model="reviewer")
        except Refused as refusal:
            return Answered(asked=asked, status=refusal.status, body={"error": refusal.code})
        return Answered(asked=asked, status=200, body=as_json(task))

    def sweep(self) -> None:
        """The sweeper's minute."""
        self.app.sweep()

    def deliver(self, records: list[dict[str, Any]]) -> None:
        """A batch to the worker, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.queue, records, self.app.work(records))

    def bury(self, records: list[dict[str, Any]]) -> None:
        """The same, for dead letters."""
        if records:
            self._acknowledge(self.app.dead, records, self.app.bury(records))

    def embed(self, case: Case, *, which: int = 0, key: str | None = None) -> Answered:
        """A caller's POST /api/embed/batch."""
        headers, body = {"Idempotency-Key": key} if key is not None else {}, {"documents": case.documents(which)}
        asked = f"embed {which} {key}"
        return self._call(asked, "POST", "/api/embed/batch", body=body, headers=headers, api=self.app.embeddings)

    def work_on_documents(self, records: list[dict[str, Any]]) -> None:
        """A batch to the worker that embeds, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.embed_queue, records, self.app.embed(records))

    def bury_documents(self, records: list[dict[str, Any]]) -> None:
        """The same, for documents that are dead letters."""
        arn = f"arn:aws:sqs:us-east-1:1:{self.app.embed_dead.url.rsplit('/', 1)[-1]}"
        if records:
            letters = [{**record, "eventSourceARN": arn} for record in records]
            self._acknowledge(self.app.embed_dead, records, self.app.bury(letters))

    def reserve(self, request_id: str, *, seats: int) -> Answered:
        """A caller's POST /workshops/{name}/reservations."""
        asked, body = f"reserve {request_id}", {"requestId": request_id, "seats": seats}
        return self._call(asked, "POST", f"{WORKSHOP}/reservations", body=body, api=self.app.workshops)

    def give_back(self, request_id: str) -> Answered:
        """A caller's DELETE /workshops/{name}/reservations/{requestId}."""
        path = f"{WORKSHOP}/reservations/{request_id}"
        return self._call(f"give back {request_id}", "DELETE", path, api=self.app.workshops)

    def resize(self, capacity: int) -> Answered:
        """An admin's PUT /workshops/{name}."""
        return self._call("resize", "PUT", WORKSHOP, body={"capacity": capacity}, api=self.app.workshops)

    def next_value(self, *, key: str | None = None) -> Answered:
        """A caller's POST /counters/{name}/next."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        asked, path = f"next {key}", "/counters/tickets/next"
        return self._call(asked, "POST", path, headers=headers, api=self.app.named_objects)

    def join(self, who: str, *, key: str | None = None) -> Answered:
        """A caller's POST /rooms/{name}/join."""
        headers, query = {"Idempotency-Key": key} if key is not None else {}, {"who": who}
        asked, path = f"join {key}", "/rooms/lobby/join"
        api = self.app.named_objects
        return replace(self._call(asked, "POST", path, headers=headers, query=query, api=api), who=who)

    def close_room(self, after_s: int) -> Answered:
        """A caller's PUT /rooms/{name}/closing."""
        body = {"afterSeconds": after_s}
        return self._call("close", "PUT", "/rooms/lobby/closing", body=body, api=self.app.named_objects)

    def ring(self, records: list[dict[str, Any]]) -> None:
        """Alarms to their function, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.alarms, records, self.app.ring(records))

    def _call(self, asked: str, method: str, path: str, *, text: str | None = None, **more: Any) -> Answered:
        answer = self.app.call(method, path, **more)
        return Answered(asked=asked, status=answer["statusCode"], body=answer["json"], text=text)

    def _acknowledge(self, queue: Any, records: list[dict[str, Any]], answer: Mapping[str, Any]) -> None:
        again = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for record in records:
            if record["messageId"] not in again:
                delete(queue, record)


@dataclass(kw_only=True)
class Lab:
    """The tables and queues, the seats of processes, the clock, and AWS itself."""

    clock: Clock = field(default_factory=Clock)
    suffix: str = "lab"
    guarded: bool = False
    """Whether the model has a breaker and permits; without, each flow is four calls shorter."""
    falls_back: bool = False
    """Whether the model is the second of its chain, behind one that is guarded and always busy."""
    case: Case = field(init=False)
    _passed_s: float = 0.0
    """The last step of time."""

    @classmethod
    def furnished(cls, *, guarded: bool = False, falls_back: bool = False) -> "Lab":
        """With its tables and queues made; only inside `mock_aws`."""
        kind = "fallback" if falls_back else "guarded" if guarded else "lab"
        lab = cls(suffix=kind, guarded=guarded, falls_back=falls_back)
        logger().setLevel("CRITICAL")  # thousands of lives, each of which goes wrong on purpose
        lab.aws.app.world.make_tables()
        for table in lab.tables:
            record_changes(lab.aws.clients["dynamodb"], table=table)
        return lab

    @cached_property
    def aws(self) -> Seat:
        """A process that nothing befalls: who gets the messages that are delivered again."""
        return Seat(lab=self)

    @cached_property
    def seats(self) -> list[Seat]:
        seats = [Seat(lab=self) for _ in range(_MOST_SEATS)]
        for seat in seats:
            _ = seat.app  # built before anybody watches
        return seats

    @cached_property
    def tables(self) -> dict[str, str]:
        """The tables by their physical names."""
        return {f"{name}-{self.suffix}": name for name in _TABLES}

    @cached_property
    def keys(self) -> KeyNames:
        return key_names(self.aws.clients["dynamodb"])

    @cached_property
    def _numbers(self) -> "itertools.count[int]":
        return itertools.count(1)

    @cached_property
    def _connections(self) -> "itertools.cycle[Seat]":
        return itertools.cycle(self.seats)

    def connect(self) -> Mapping[str, Any]:
        """The clients of the next seat, for an actor."""
        return next(self._connections).clients

    def seat(self, turn: Turn) -> Seat:
        """Where an actor sits, its model asked in steps of that actor."""
        found = next(seat for seat in self.seats if seat.clients["dynamodb"] is turn.clients["dynamodb"])
        found.model.turn = turn
        return found

    def begin(self, *, script: Sequence[Step] = (None,), opening: str = "") -> Case:
        """A new case, its text opened by some words; what is left of the last one is forgotten."""
        number = next(self._numbers)
        forget_messages()
        forget_rows(self.tables)
        self.clock.advance(1)
        self._passed_s = 0.0
        for seat in (self.aws, *self.seats):
            seat.model.turn = None
        short = f"{opening}Text {number}: rivers shape the land.", f"Text {number}, another one."
        texts = *short, long_text(number)
        self.case = Case(texts=texts, key=f"key-{number}", script=script)
        return self.case

    def observe(self) -> None:
        """Takes down what was written up to now."""
        at_ms = int(self.clock() * 1000)
        asked_ms = at_ms - int(self._passed_s * 1000)
        self.case.changes.extend(take_changes(self.tables, at_ms=at_ms, asked_ms=asked_ms))

    def pass_time(self, seconds: float) -> None:
        """Lets the time of everything pass: of the code, of the rows, of the queues."""
        self.observe()
        self.clock.advance(seconds)
        self._passed_s = seconds
        pass_queue_time(seconds)

    def receive(self) -> list[dict[str, Any]]:
        """What Lambda's poller gets from the queue now."""
        return receive(self.aws.app.queue, most=3)

    def receive_letters(self) -> list[dict[str, Any]]:
        return receive(self.aws.app.dead, most=3)

    def receive_documents(self) -> list[dict[str, Any]]:
        return receive(self.aws.app.embed_queue)

    def receive_dead_documents(self) -> list[dict[str, Any]]:
        return receive(self.aws.app.embed_dead)

    def receive_alarms(self) -> list[dict[str, Any]]:
        return receive(self.aws.app.alarms, most=3)

    def rest(self) -> None:
        """Delivers what there is, again and again as it becomes visible, until nothing is under way any more."""
        for number in range(_MOST_DELIVERIES):
            wait_s = seconds_until_seen()
            if wait_s is None and self._alarm_s() is None:
                self.observe()
                self.case.kept = frozenset(self._kept())
                return
            if wait_s is None:
                self.pass_time(self._alarm_s() or 0.0)
                self.aws.sweep()
                continue
            if wait_s > 0:
                # Later and later, as a busy poller may be: what is to wait a minute need not be seen sixty times.
                self.pass_time(wait_s + 2**number / 10)
            self.aws.deliver(self.receive())
            self.aws.bury(self.receive_letters())
            self.aws.ring(self.receive_alarms())
            self.aws.work_on_documents(self.receive_documents())
            self.aws.bury_documents(self.receive_dead_documents())
        raise AssertionError(f"not at rest after {_MOST_DELIVERIES} deliveries")

    def _alarm_s(self) -> float | None:
        """How long until the next alarm that only the sweeper knows of; None where there is none."""
        self.observe()
        times_s = [row["due_at"] for row in self.case.rows("StateTable").values() if row.get("due") == DUE]
        return max(0.0, min(times_s) - self.clock()) if times_s else None

    def _kept(self) -> Iterator[str]:
        payloads = self.aws.app.bindings.payloads
        waiting = [row for row in self.case.rows("TasksTable").values() if row["status"] == Status.IN_REVIEW]
        names = (text_name(row["task_id"], row["nonce"]) for row in waiting)
        return (name for name in names if payloads.kept(name) is not None)


def _without_a_memory(backlog: Backlog) -> Backlog:
    """One that looks each time, and tells nobody of its pace: by the wall's clock no life would be like another."""
    later = itertools.count(step=int(LOOK_EVERY_S) + 1)
    return replace(backlog, keeps_pace=False, clock=lambda: float(next(later)))


def vector_of(text: str) -> Vector:
    """The one right vector of a text."""
    found = unit(hashlib.sha256(text.encode()).digest()[:4])
    assert found is not None
    return found


def long_text(number: int) -> str:
    """A text in two parts, each a paragraph of its own and of one length."""
    return "\n\n".join(f"Part {part} of text {number}. ".ljust(4_000, "x") for part in ("a", "b"))


def parts_in(text: str) -> list[str]:
    """The parts that it is scored in."""
    return text.split("\n\n")


def kept_scores(lab: "Lab") -> KeptScores:
    return KeptScores(values=lab.aws.app.world.values, owner=OWNER)


def score_of(text: str) -> int:
    """The one right score of a text."""
    if len(parts_in(text)) > 1:  # of one length: half up, without a weight
        return (sum(map(score_of, parts_in(text))) * 2 + 2) // 4
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 101


def fingerprint_of(text: str) -> str:
    return digest({"kind": KIND, "text": text})


def cache_key_of(text: str) -> str:
    return cache_key(text, owner=OWNER, chain=CHAIN)
