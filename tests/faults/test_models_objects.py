"""A named object against a small model in memory: any order of calls, commands, alarms, lost answers, and the clock.

The machine runs the real thing on moto and says beforehand what must come of each step.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from moto import mock_aws

from isolane.alarms import Alarm
from isolane.errors import IdempotencyMismatch, Unavailable
from isolane.objects import COMMAND_S, Called
from tests.faults.clients import connect
from tests.faults.failing_client import Process, at
from tests.faults.faults import LoseAnswer
from tests.faults.schedule import share
from tests.world import World

BOUNDED = settings(max_examples=share(150), stateful_step_count=30, deadline=None)
COMMANDS = st.sampled_from(["call-1", "call-2", "call-3"])
STEPS_OF_TIME_S = st.sampled_from([0.5, 5, 60, COMMAND_S])
NAME = "thing:1"


class Thing:
    """Adds up, and has an alarm that adds a hundred."""

    def __init__(self) -> None:
        self.total = 0
        self.alarm_at_ms: int | None = None

    def add(self, number: int) -> int:
        self.total += number
        return self.total

    def wake_at(self, at_ms: int | None) -> None:
        self.alarm_at_ms = at_ms

    def alarm(self) -> None:
        self.total += 100


@dataclass
class Model:
    """What an object promises."""

    total: int = 0
    alarm_at_ms: int | None = None
    answers: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    """By command: what was added, its answer, and until when it is kept."""

    def add(self, number: int, *, command: str | None, now_s: float) -> tuple[int, bool] | None:
        """The answer and whether it is a replay; None where the command was another call."""
        if command is not None and command in self.answers and self.answers[command][2] > now_s:
            added, answer, _ = self.answers[command]
            return (answer, True) if added == number else None
        self.total += number
        if command is not None:
            self.answers[command] = (number, self.total, int(now_s) + COMMAND_S)
        return self.total, False

    def ring(self, at_ms: int) -> bool:
        rings = self.alarm_at_ms == at_ms
        if rings:
            self.total, self.alarm_at_ms = self.total + 100, None
        return rings


class ObjectMachine(RuleBasedStateMachine):
    """Each command is given to both, and both must say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        self.world = World(partial(connect, signed=False))
        self.world.make_tables()
        self.objects = self.world.objects
        self.model = Model()
        self.set_for: list[int] = []

    def teardown(self) -> None:
        self.stack.close()

    def told(self, number: int, *, command: str | None) -> Called | None:
        try:
            return self.objects.call(Thing, NAME, "add", number, command=command)
        except IdempotencyMismatch:
            return None

    @rule(number=st.integers(-2, 2), command=COMMANDS | st.none())
    def add(self, number: int, command: str | None) -> None:
        expected = self.model.add(number, command=command, now_s=self.world.clock())
        called = self.told(number, command=command)
        assert (called and (called.value, called.replayed)) == expected

    @rule(number=st.integers(1, 2), command=COMMANDS | st.none(), nth=st.integers(1, 2))
    def add_and_lose_an_answer_inside_the_call(self, number: int, command: str | None, nth: int) -> None:
        expected = self.model.add(number, command=command, now_s=self.world.clock())
        with Process(plan=at(nth, LoseAnswer(how="timeout", retry=True))).attached(self.world.client("dynamodb")):
            called = self.told(number, command=command)
        assert (called and (called.value, called.replayed)) == expected

    @rule(number=st.integers(1, 2), command=COMMANDS, nth=st.integers(1, 2))
    def add_and_ask_again(self, number: int, command: str, nth: int) -> None:
        """Whoever was not answered sends the command again."""
        expected = self.model.add(number, command=command, now_s=self.world.clock())
        with Process(plan=at(nth, LoseAnswer(how="reset", retry=False))).attached(self.world.client("dynamodb")):
            try:
                called = self.told(number, command=command)
            except Unavailable:
                called = self.told(number, command=command)
        assert (called and called.value) == (expected and expected[0])

    @rule(in_ms=st.integers(0, 3) | st.none())
    def set_the_alarm(self, in_ms: int | None) -> None:
        at_ms = self.objects.now_ms() + in_ms if in_ms is not None else None
        self.objects.get(Thing, NAME).wake_at(at_ms)
        self.model.alarm_at_ms = at_ms
        self.set_for.extend([at_ms] if at_ms is not None else [])

    @rule(data=st.data())
    def deliver_an_alarm(self, data: st.DataObject) -> None:
        """Any that was ever set, as SQS may keep one back for long and deliver it twice."""
        if self.set_for:
            at_ms = data.draw(st.sampled_from(self.set_for))
            rang = self.objects.ring(Thing, Alarm(kind="Thing", name=NAME, at_ms=at_ms))
            assert rang == self.model.ring(at_ms)

    @rule(seconds=STEPS_OF_TIME_S)
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    @invariant()
    def the_state_is_as_promised(self) -> None:
        thing = self.objects.get(Thing, NAME)
        assert (thing.total, thing.alarm_at_ms) == (self.model.total, self.model.alarm_at_ms)


TestObjects = ObjectMachine.TestCase
TestObjects.settings = BOUNDED
