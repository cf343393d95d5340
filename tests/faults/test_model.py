"""Random commands, to the code and to a model in memory: they agree on every answer."""

import os
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule, run_state_machine_as_test

from isolane.delivery import EXHAUSTED, NEVER_WRITTEN_S
from isolane.errors import Conflict, Gone, IdempotencyMismatch, NotFound
from isolane.json_edge import dumps
from isolane.reviews import LEASE_S
from isolane.submissions import Submission
from isolane.task import Claimed, Problem, Task
from isolane.task_list import list_tasks
from scoring.cache import cache_key
from tests.faults.case import CHAIN, CLAIM_S, MAX_ATTEMPTS, VERDICTS
from tests.faults.lab import Lab
from tests.faults.model import Model, Row
from tests.faults.right_answers import fingerprint_of, score_of
from tests.faults.schedule import share
from tests.faults.task_promises import terminal_once
from tests.faults.time_to_live import reap_rows
from tests.faults.visibility import forget_messages

CACHE_S = 86_400
EXAMPLES = 100
FEWEST_EXAMPLES = 5
STEPS_OF_TIME = (0.5, CLAIM_S + 2, LEASE_S, 3_600, 86_400, 15 * 86_400)
"""A little, a claim, a lease, an hour, a day, a fortnight."""
ODD = Problem(code="odd", message="Somebody has to look at it.")
owners = st.sampled_from(("ann", "bob"))
texts = st.sampled_from(("A text.", "Another text."))
keys = st.sampled_from((None, "key 1", "key 2"))
reviewers = st.sampled_from(tuple(VERDICTS))


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A submission, as the code and the model know it."""

    name: str
    owner: str
    text: str
    number: int
    sent_ms: int
    task: Task

    def record(self, *, now_ms: int) -> dict[str, Any]:
        """Its message, delivered now; SQS does not know its receipt any more, as where another worker deleted it."""
        body = {"task_id": self.task.task_id, "nonce": self.task.nonce, "kind": "score", "owner": self.owner}
        sent_ms = int(time.time() * 1000) - (now_ms - self.sent_ms)
        return {
            "messageId": "message-1",
            "receiptHandle": "none",
            "body": dumps({**body, "text": self.text}),
            "attributes": {"SentTimestamp": str(sent_ms), "ApproximateReceiveCount": "1"},
        }


@dataclass(frozen=True, kw_only=True)
class Held:
    """A claim, as the code and the model know it."""

    sent: Sent
    number: int
    task: Task

    @property
    def name(self) -> str:
        return self.sent.name


_NOBODYS = Row(owner="", text="", submission=0, created=0, deadline=0, drop_s=0)


class Machine(RuleBasedStateMachine):
    """The commands, each given to both."""

    lab: ClassVar[Lab]
    tasks_sent: Bundle[Sent] = Bundle("tasks_sent")
    claims: Bundle[Held] = Bundle("claims")

    @initialize()
    def begin(self) -> None:
        self.case = self.lab.begin()
        self.app = self.lab.aws.app
        self.tasks = self.app.world.tasks
        self.model = Model(now=self.tasks.now_ms(), most_attempts=MAX_ATTEMPTS, cache_s=CACHE_S)
        self.ids: dict[str, str] = {}

    @rule(target=tasks_sent, owner=owners, text=texts, key=keys)
    def submit(self, owner: str, text: str, key: str | None) -> Any:
        self.time_passes(0.5)
        name = f"{owner}, {key}" if key is not None else f"task {self.model.now}"
        wanted = self.model.submit(name, owner=owner, text=text)
        found, task = self._submit(name, owner=owner, text=text, key=key)
        assert found == wanted
        assert len(self.lab.receive()) == (wanted == "new"), "a new task has a message, and nothing else has"
        forget_messages()
        if task is None:
            return multiple()
        row = self._same(task, name)
        return Sent(name=name, owner=owner, text=text, number=row.submission, sent_ms=row.created, task=task)

    @rule(target=claims, sent=tasks_sent)
    def claim(self, sent: Sent) -> Any:
        until_ms = self.model.now + CLAIM_S * 1000
        wanted = self.model.claim(sent.name, submission=sent.number, until=until_ms)
        nonce = sent.task.nonce
        found = self.tasks.claim(sent.task.task_id, nonce=nonce, until_ms=until_ms, max_attempts=MAX_ATTEMPTS)
        if isinstance(wanted, str) or not isinstance(found, Claimed):
            assert type(found).__name__ == wanted
            return multiple()
        self._same(found.task, sent.name)
        return Held(sent=sent, number=wanted, task=found.task)

    @rule(sent=tasks_sent)
    def deliver(self, sent: Sent) -> None:
        wanted = self._deliver_to_the_model(sent)
        answer = self.app.work([sent.record(now_ms=self.model.now)])
        found = bool(answer["batchItemFailures"]), bool(self.lab.receive_letters())
        forget_messages()
        assert found == wanted, "comes again, is put aside"

    @rule(held=claims)
    def complete(self, held: Held) -> None:
        self.model.end(held.name, held.number, "completed")
        result = {"score": score_of(held.sent.text)}
        self._same(self.tasks.complete(held.task, result=result, model="model"), held.name)

    @rule(held=claims)
    def fail(self, held: Held) -> None:
        self.model.end(held.name, held.number, "failed", error=ODD.code)
        self._same(self.tasks.fail(held.task, ODD), held.name)

    @rule(held=claims, attempted=st.booleans())
    def give_back(self, held: Held, attempted: bool) -> None:
        self.model.give_back(held.name, held.number, attempted=attempted)
        self._same(self.tasks.give_back(held.task, attempted=attempted), held.name)

    @rule(held=claims)
    def review(self, held: Held) -> None:
        self.model.review(held.name, held.number, error=ODD.code)
        self._same(self.tasks.review(held.task, reason=ODD, provisional=None), held.name)

    @rule(sent=tasks_sent, reviewer=reviewers)
    def take(self, sent: Sent, reviewer: str) -> None:
        until_ms = self.model.now + LEASE_S * 1000
        wanted = self.model.take(sent.name, reviewer=reviewer, until=until_ms)
        taken = self.tasks.take(sent.task.task_id, reviewer=reviewer, until_ms=until_ms)
        assert (taken is not None) == wanted
        if taken is not None:
            self._same(taken, sent.name)

    @rule(sent=tasks_sent, reviewer=reviewers)
    def judge(self, sent: Sent, reviewer: str) -> None:
        wanted = self.model.judge(sent.name, reviewer=reviewer, verdict=VERDICTS[reviewer])
        result = {"score": VERDICTS[reviewer]}
        try:
            judged = self.tasks.judge(sent.task.task_id, reviewer=reviewer, result=result, model="reviewer")
        except (Conflict, NotFound, Gone) as refusal:
            found = _told(refusal)
        else:
            found = str(self._same(judged, sent.name).status)
        assert found == wanted

    @rule(held=claims)
    def abandon(self, held: Held) -> None:
        self.model.abandon(held.name, submission=held.sent.number, error=ODD.code)
        self._same(self.tasks.abandon(held.task, ODD), held.name)

    @rule(sent=tasks_sent, owner=owners)
    def cancel(self, sent: Sent, owner: str) -> None:
        wanted = self.model.cancel(sent.name, owner=owner)
        try:
            found = str(self.tasks.cancel(sent.task.task_id, owner=owner).status)
        except (Conflict, NotFound, Gone) as refusal:
            found = _told(refusal)
        assert found == wanted

    @rule(sent=tasks_sent, owner=owners)
    def read(self, sent: Sent, owner: str) -> None:
        wanted = self.model.read(sent.name, owner=owner)
        try:
            found: Task | str = self.tasks.read(sent.task.task_id, owner=owner)
        except (NotFound, Gone) as refusal:
            found = _told(refusal)
        if isinstance(found, Task):
            assert isinstance(wanted, Row), f"the model says {wanted}"
            self._same(found, sent.name)
        else:
            assert found == wanted

    @rule(owner=owners)
    def turn_pages(self, owner: str) -> None:
        wanted = [self.ids[name] for name in self.model.newest_first(owner)]
        assert [task.task_id for task in list_tasks(self.tasks, owner=owner, limit=100).tasks] == wanted

    @rule(seconds=st.sampled_from(STEPS_OF_TIME))
    def time_passes(self, seconds: float) -> None:
        self.lab.pass_time(seconds)
        self.model.now = self.tasks.now_ms()

    @rule()
    def time_to_live(self) -> None:
        table = self.tasks.table
        reap_rows(table.client, table=table.name, attribute="ttl", now_s=self.model.now // 1000)
        self.model.reap()

    def teardown(self) -> None:
        if hasattr(self, "case"):
            self.lab.observe()
            terminal_once(self.case)

    def _submit(self, name: str, *, owner: str, text: str, key: str | None) -> tuple[str, Task | None]:
        submission = Submission(
            kind="score",
            owner=owner,
            text=text,
            fingerprint=fingerprint_of(text),
            cache_key=cache_key(text, owner=owner, chain=CHAIN),
            idempotency_key=key,
        )
        try:
            made = self.app.bindings.scores.submit(submission)
        except IdempotencyMismatch:
            return "mismatch", None
        assert self.ids.setdefault(name, made.task.task_id) == made.task.task_id
        return "replayed" if made.replayed else "cached" if made.task.cached else "new", made.task

    def _deliver_to_the_model(self, sent: Sent) -> tuple[bool, bool]:
        """What becomes of the message: whether it comes again, and whether it is put aside."""
        model = self.model
        claim = model.claim(sent.name, submission=sent.number, until=model.now + CLAIM_S * 1000)
        if isinstance(claim, int):
            model.end(sent.name, claim, "completed")
            model.remember(sent.owner, sent.text)
        elif claim == "Exhausted":
            model.abandon(sent.name, submission=sent.number, error=EXHAUSTED.code)
        elif claim == "Overdue":
            model.settle(sent.name)
        young = model.now - sent.sent_ms <= NEVER_WRITTEN_S * 1000
        return claim == "Busy" or (claim == "NoRow" and young), claim == "Exhausted"

    def _same(self, task: Task, name: str) -> Row:
        """Holds a task that the code answered with against the model's."""
        row = self.model.rows.get(name)
        if row is None:  # time to live has taken it; who held it has nothing but what it held
            return _NOBODYS
        error = task.error.code if task.error is not None else None
        score = score_of(row.score_of) if row.score_of is not None else row.verdict
        found = task.result["score"] if task.result is not None else None
        assert (str(task.status), task.attempt, error, found) == (row.status, row.attempt, row.error, score)
        assert (task.created_at_ms, task.deadline_ms, task.ttl) == (row.created, row.deadline, row.drop_s)
        assert task.expires_at == row.gone_s
        return row


def _told(refusal: Conflict | NotFound | Gone) -> str:
    return refusal.code.removeprefix("task_") if not isinstance(refusal, Conflict) else refusal.code


def test_the_code_and_the_model_agree(lab: Lab) -> None:
    Machine.lab = lab
    # Who only wants to know whether it is caught need not have it told as shortly as can be.
    phases = [Phase.generate] if "FIRST_CATCH" in os.environ else tuple(Phase)
    examples = share(EXAMPLES) + FEWEST_EXAMPLES
    run_state_machine_as_test(Machine, settings=settings(max_examples=examples, stateful_step_count=30, phases=phases))


def test_a_task_canceled_out_of_review_has_no_reason_in_either(lab: Lab) -> None:
    """Random commands come by this once in some hundred runs."""
    Machine.lab = lab
    both = Machine()
    both.begin()
    sent = both.submit(owner="ann", key=None, text="A text.")
    held = both.claim(sent=sent)
    both.review(held=held)
    both.cancel(sent=sent, owner="ann")
    both.abandon(held=held)
