"""Credits against a small model in memory: any order of grants, orders, ends, and orders under keys used again.

The machine runs the real thing on moto and says beforehand what must come of each step; now and then an answer is lost,
or another transaction is in the way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from moto import mock_aws

from isolane.errors import Conflict, Contended, Gone, IdempotencyMismatch, InsufficientCredits, NotFound, Unavailable
from isolane.paid_tasks import PaidTasks
from isolane.task import PAID_RESULT_S, Problem, Task
from tests.faults import faults
from tests.faults.clients import connect
from tests.faults.failing_client import Process, at
from tests.faults.faults import Fault, LoseAnswer
from tests.faults.schedule import share
from tests.world import World

T = TypeVar("T")
BOUNDED = settings(max_examples=share(80), stateful_step_count=25, deadline=None)
START_S = 600
OWNERS = ("ann", "bob")
NAMES = st.sampled_from([f"{owner}-{number}" for owner in OWNERS for number in range(3)])
PROMPTS = st.sampled_from(["a lighthouse", "a windmill"])
TROUBLES = st.none() | st.sampled_from(
    [LoseAnswer(how="timeout", retry=again) for again in (True, False)]
    + [faults.Conflict(item=item) for item in range(3)]
)
LOST = Problem(code="lost", message="Nobody knows where it is.")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A task, as far as credits go."""

    price: int
    prompt: str
    deadline_ms: int
    ended: str = ""
    gone_s: int | None = None


@dataclass
class Books:
    """What accounts promise: the entries of each owner, and what has become of each task."""

    entries: dict[str, list[tuple[str, int, str]]] = field(default_factory=lambda: {owner: [] for owner in OWNERS})
    grants: dict[str, int] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def balance(self, owner: str) -> int:
        return sum(amount for _, amount, _ in self.entries[owner])

    def grant(self, owner: str, grant_id: str, amount: int) -> int | None:
        """The balance after it; None where the id was used with other credits."""
        name = f"{owner} {grant_id}"
        if name not in self.grants:
            self.grants[name] = amount
            self.entries[owner].append((f"grant#{grant_id}", amount, "grant"))
        return self.balance(owner) if self.grants[name] == amount else None

    def order(self, name: str, *, price: int, prompt: str, now_ms: int) -> str:
        """`ordered`, `mismatch` or `short`."""
        there = self.rows.get(name)
        if there is not None and (there.gone_s is None or now_ms < there.gone_s * 1000):
            return "ordered" if there.prompt == prompt else "mismatch"
        if price and self.balance(owner_of(name)) < price:
            return "short"
        self.rows[name] = Row(price=price, prompt=prompt, deadline_ms=now_ms + START_S * 1000)
        self.entries[owner_of(name)].append((f"charge#{name}", -price, "image"))
        return "ordered"

    def end(self, name: str, end: str, *, now_ms: int) -> None:
        """The first end counts; all but a delivery pay back."""
        row = self.rows[name]
        if row.ended:
            return
        self.rows[name] = replace(row, ended=end, gone_s=now_ms // 1000 + PAID_RESULT_S)
        if end != "delivered":
            self.entries[owner_of(name)].append((f"refund#{name}", row.price, end))


def owner_of(name: str) -> str:
    return name.partition("-")[0]


class LedgerMachine(RuleBasedStateMachine):
    """Each command is given to both, and both must come to the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        self.world = World(partial(connect, signed=False))
        self.world.make_tables()
        self.ledger = replace(self.world.ledger, sleep=lambda _: None)
        tasks = replace(self.world.tasks, ledger=self.ledger)
        self.paid = PaidTasks(tasks=tasks, kind="image", duty="images", start_s=START_S, finish_s=60, hand_over_s=12)
        self.books = Books()
        self.copies: dict[str, Task] = {}
        """As each task was when it was ordered."""

    def teardown(self) -> None:
        self.stack.close()

    @property
    def now_ms(self) -> int:
        return self.paid.tasks.now_ms()

    def through(self, trouble: Fault | None, work: Callable[[], T]) -> T:
        """Whoever is not answered, or is told to come again, does so."""
        if trouble is None:
            return work()
        with Process(plan=at(1, trouble)).attached(self.world.client("dynamodb")):
            try:
                return work()
            except (Unavailable, Contended):
                return work()

    @rule(seconds=st.sampled_from([0.001, 1.0, START_S - 1.0, START_S, PAID_RESULT_S]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    @rule(
        owner=st.sampled_from(OWNERS),
        grant_id=st.sampled_from(["welcome", "more"]),
        amount=st.integers(1, 30),
        trouble=TROUBLES,
    )
    def grant(self, owner: str, grant_id: str, amount: int, trouble: Fault | None) -> None:
        expected = self.books.grant(owner, grant_id, amount)
        try:
            balance = self.through(trouble, lambda: self.ledger.grant(owner, amount=amount, grant_id=grant_id))
        except IdempotencyMismatch:
            assert expected is None
        else:
            assert balance == expected

    @rule(name=NAMES, price=st.sampled_from([0, 5, 10]), prompt=PROMPTS, trouble=TROUBLES)
    def order(self, name: str, price: int, prompt: str, trouble: Fault | None) -> None:
        before = self.books.balance(owner_of(name))
        expected = self.books.order(name, price=price, prompt=prompt, now_ms=self.now_ms)
        try:
            task = self.through(trouble, lambda: self.ordered(name, price=price, prompt=prompt))
        except IdempotencyMismatch:
            found = "mismatch", before
        except InsufficientCredits as refusal:
            found = "short", refusal.balance
        else:
            found, self.copies[name] = ("ordered", before), task
        assert found == (expected, before)

    def ordered(self, name: str, *, price: int, prompt: str) -> Task:
        new = self.paid.new(task_id=name, owner=owner_of(name), fingerprint=prompt, prompt=prompt, price=price)
        return self.paid.add(new)

    @rule(name=NAMES, trouble=TROUBLES)
    def deliver(self, name: str, trouble: Fault | None) -> None:
        if name in self.copies:
            copy = self.copies[name]
            self.books.end(name, "delivered", now_ms=self.now_ms)
            self.through(trouble, lambda: self.paid.tasks.deliver(copy, result={}, model="model"))

    @rule(name=NAMES, trouble=TROUBLES)
    def abandon(self, name: str, trouble: Fault | None) -> None:
        if name in self.copies:
            copy = self.copies[name]
            self.books.end(name, LOST.code, now_ms=self.now_ms)
            self.through(trouble, lambda: self.paid.tasks.abandon(copy, LOST))

    @rule(name=NAMES, trouble=TROUBLES)
    def time_out(self, name: str, trouble: Fault | None) -> None:
        if name in self.copies:
            copy = self.copies[name]
            if self.books.rows[name].deadline_ms <= self.now_ms:
                self.books.end(name, "not_started", now_ms=self.now_ms)
            self.through(trouble, lambda: self.paid.tasks.time_out(copy))

    @rule(name=NAMES, trouble=TROUBLES)
    def cancel(self, name: str, trouble: Fault | None) -> None:
        """What is overdue was not started in time, and cannot be canceled any more."""
        if name in self.copies:
            late = self.books.rows[name].deadline_ms <= self.now_ms
            self.books.end(name, "not_started" if late else "canceled", now_ms=self.now_ms)
            with suppress(Conflict, Gone, NotFound):
                self.through(trouble, lambda: self.paid.tasks.cancel(name, owner=owner_of(name)))

    @rule(name=NAMES)
    def end_with_an_old_copy(self, name: str) -> None:
        """Of a submission that is none any more, or a task that has ended."""
        if name in self.copies:
            self.paid.tasks.abandon(replace(self.copies[name], nonce="older"), LOST)
            self.paid.tasks.time_out(replace(self.copies[name], nonce="older"))

    @invariant()
    def accounts_are_the_same(self) -> None:
        for owner in OWNERS:
            statement = self.ledger.statement(owner, limit=100)
            found = [(entry.entry_id, entry.credits, entry.reason) for entry in statement.entries]
            assert sorted(found) == sorted(self.books.entries[owner])
            assert statement.balance == self.books.balance(owner) >= 0
            times = [entry.at_ms for entry in statement.entries]
            assert times == sorted(times, reverse=True)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = BOUNDED
