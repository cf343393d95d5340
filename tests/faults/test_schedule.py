"""The scheduler: what it must find, what it must not report, and that it leaves nothing out."""

import math
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.faults.calls import Mode, Touch, key_names
from tests.faults.clients import new_client
from tests.faults.conftest import Toy
from tests.faults.failing_client import at
from tests.faults.faults import LoseAnswer
from tests.faults.schedule import Race, ScheduleFailed, explore, random_schedules, replay, share, time_passes
from tests.faults.stage import Act, Choice, Outcome, OutOfStep, Stage, Turn

KEY = {"id": {"S": "counter"}}


def connect() -> Mapping[str, Any]:
    return {"dynamodb": new_client("dynamodb")}


def read(dynamodb: Any) -> int:
    item = dynamodb.get_item(TableName="things", Key=KEY, ConsistentRead=True).get("Item", {})
    return int(item.get("value", {"N": "0"})["N"])


def increment_blindly(_toy: Toy, turn: Turn) -> None:
    dynamodb = turn.clients["dynamodb"]
    value = read(dynamodb)
    dynamodb.put_item(TableName="things", Item={**KEY, "value": {"N": str(value + 1)}})


def increment_if_unchanged(_toy: Toy, turn: Turn) -> None:
    dynamodb = turn.clients["dynamodb"]
    while True:
        value = read(dynamodb)
        try:
            return put_if(dynamodb, old=value, new=value + 1)
        except ClientError:
            continue


def put_if(dynamodb: Any, *, old: int, new: int) -> None:
    dynamodb.put_item(
        TableName="things",
        Item={**KEY, "value": {"N": str(new)}},
        ConditionExpression="#value = :old",
        ExpressionAttributeNames={"#value": "value"},
        ExpressionAttributeValues={":old": {"N": str(old)}},
    )


def counter_race(toy: Toy, increment: Act[Toy], *, actors: str = "AB", most: int = 99, **settings: Any) -> Race[Toy]:
    def setup() -> Toy:
        toy.put("counter", value=0)
        return toy

    def every_increment_counts(toy: Toy, outcomes: Mapping[str, Outcome]) -> None:
        done, value = sum(not outcome.died for outcome in outcomes.values()), toy.number("counter")
        assert done <= value <= most, f"{done} were told that they counted, and the counter says {value}"

    return Race(
        name="increments",
        setup=setup,
        actors=dict.fromkeys(actors, increment),
        invariant=every_increment_counts,
        connect=connect,
        keys=lambda toy: key_names(toy.dynamodb),
        **settings,
    )


class TestOnATable:
    def test_a_lost_update_is_found_and_told_step_by_step(self, toy: Toy) -> None:
        with pytest.raises(ScheduleFailed) as caught:
            explore(counter_race(toy, increment_blindly)).check()
        assert str(caught.value).splitlines() == [
            "increments: AssertionError: 2 were told that they counted, and the counter says 1",
            "  1. actor A: GetItem things/counter (read)",
            "  2. actor B: GetItem things/counter (read)",
            "  3. actor B: PutItem things/counter (increment_blindly)",
            "  4. actor A: PutItem things/counter (increment_blindly)",
            "  replay(race, 'A B B A')  # depth 6, seed 0",
        ]

    def test_a_conditional_write_loses_nothing_in_any_order(self, toy: Toy) -> None:
        report = explore(counter_race(toy, increment_if_unchanged)).check()
        assert report.exhaustive
        assert report.ran >= 4

    def test_a_failing_order_can_be_replayed(self, toy: Toy) -> None:
        race = counter_race(toy, increment_blindly)
        assert replay(race, "A B A B").failures
        assert not replay(race, "A A B B").failures

    def test_random_schedules_find_it_among_three_and_name_their_seed(self, toy: Toy) -> None:
        race = counter_race(toy, increment_blindly, actors="ABC")
        found = random_schedules(race, n=40, seed=7).failures[0]
        number = int(found.origin.removeprefix("seed 7, schedule "))
        again = random_schedules(race, n=40, seed=7, only=number).failures[0]
        assert list(map(str, again.choices)) == list(map(str, found.choices))

    def test_a_death_at_every_step_is_tried_in_every_order(self, toy: Toy) -> None:
        report = explore(counter_race(toy, increment_if_unchanged), dying="A").check()
        # Two calls, or four when the first write is refused; each before and after.
        assert report.deaths == 8

    def test_an_actor_may_meet_faults_of_its_own_between_the_others_steps(self, toy: Toy) -> None:
        plans = {"A": lambda: at(2, LoseAnswer(retry=True))}
        found = explore(counter_race(toy, increment_if_unchanged, plans=plans, most=2)).failures[0]
        # The write was applied, its retry met the new value, and so it was counted once more.
        assert "the counter says 3" in str(found)
        assert "actor A: PutItem things/counter (put_if) (sent again, attempt 2)" in str(found)


@dataclass(kw_only=True)
class Memory:
    """A world without AWS: sets of marks by name, and what each actor saw."""

    cells: dict[str, frozenset[str]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


Instruction = tuple[Mode, str]


def program(*instructions: Instruction) -> Act[Memory]:
    """An actor that reads cells, writes them and adds to them.

    What it puts down tells all that it has seen, and it leaves out the write after a read that found three marks.
    """

    def act(world: Memory, turn: Turn) -> None:
        seen, skip = [turn.name], False
        for mode, cell in instructions:
            if skip and mode == "write":
                continue
            touches = frozenset({Touch(resource="cell", item=cell, mode=mode)})
            found = turn.do(f"{mode} {cell}", partial(apply, world, mode, cell, " ".join(seen)), touches=touches)
            seen.append(found)
            skip = mode == "read" and found.count("'") == 6
        world.log.append(str(seen))

    return act


def apply(world: Memory, mode: Mode, cell: str, mark: str) -> str:
    old = world.cells.get(cell, frozenset())
    if mode == "read":
        return str(sorted(old))
    world.cells[cell] = (old if mode == "add" else frozenset()) | {mark}
    return mode


def silent(_world: Memory, _outcomes: Mapping[str, Outcome]) -> None:
    """The invariant that always holds."""


def ends(actors: Mapping[str, Act[Memory]], **settings: Any) -> tuple[set[str], int]:
    """All the ways in which these actors can leave the memory, and how many schedules it took."""
    seen: set[str] = set()

    def note(world: Memory, _outcomes: Mapping[str, Outcome]) -> None:
        cells = {cell: sorted(marks) for cell, marks in sorted(world.cells.items())}
        seen.add(f"{cells} {sorted(world.log)}")

    report = explore(Race(name="programs", setup=Memory, actors=actors, invariant=note), **settings).check()
    return seen, report.ran


def drawn(seed: int) -> dict[str, list[Instruction]]:
    """Two or three programs of a few random instructions."""
    chance = random.Random(seed)
    names, most = chance.choice([("AB", 4), ("ABC", 2)])
    modes: list[Mode] = ["read", "read", "write", "write", "add"]
    return {
        name: [(chance.choice(modes), chance.choice("xyz")) for _ in range(chance.randint(1, most))] for name in names
    }


READ_WRITE: list[Instruction] = [("read", "x"), ("write", "x")]
WRITE_A: Instruction = ("write", "a")
WRITE_B: Instruction = ("write", "b")
PROGRAMS: list[dict[str, list[Instruction]]] = [
    {"A": READ_WRITE, "B": READ_WRITE},
    {"A": [("write", "x"), ("read", "y")], "B": [("write", "y"), ("read", "x")], "C": [("write", "x"), ("write", "y")]},
    # With this one, the rule of Flanagan and Godefroid together with sleep sets misses an end.
    {"A": [("write", "y"), ("add", "x")], "B": [("add", "x")], "C": [("read", "y"), ("read", "x")]},
]


class TestTheReduction:
    @pytest.mark.parametrize("programs", [*PROGRAMS, *map(drawn, range(12))])
    def test_it_reaches_every_end_that_all_orders_reach(self, programs: dict[str, list[Instruction]]) -> None:
        actors = {name: program(*instructions) for name, instructions in programs.items()}
        everything, all_orders = ends(actors, reduce=False)
        reduced, tried = ends(actors)
        assert reduced == everything
        assert len(reduced) <= tried <= all_orders

    def test_calls_on_different_items_are_not_permuted(self) -> None:
        actors = {"A": program(("write", "a"), ("write", "b")), "B": program(("write", "c"), ("write", "d"))}
        assert ends(actors)[1] == 1

    @pytest.mark.parametrize("mode", ["read", "add"])
    def test_reads_are_not_permuted_nor_are_additions(self, mode: Mode) -> None:
        assert ends({"A": program((mode, "x"), (mode, "x")), "B": program((mode, "x"))})[1] == 1

    def test_without_it_all_orders_are_tried(self) -> None:
        actors = {"A": program(*[WRITE_A] * 3), "B": program(*[WRITE_B] * 3)}
        assert ends(actors, reduce=False)[1] == math.comb(6, 3)

    def test_writes_to_one_item_are_tried_in_every_order(self) -> None:
        assert ends({name: program(*[WRITE_A] * 3) for name in "AB"})[1] == math.comb(6, 3)

    def test_beyond_its_depth_it_says_that_it_was_bounded(self) -> None:
        actors = {name: program(*[WRITE_A] * 4) for name in "AB"}
        race = Race(name="long", setup=Memory, actors=actors, invariant=silent)
        bounded, whole = explore(race, depth=2), explore(race, depth=4)
        assert (bounded.exhaustive, whole.exhaustive, whole.ran) == (False, True, math.comb(8, 4))
        assert bounded.ran < whole.ran

    def test_a_limit_stops_it(self) -> None:
        actors = {name: program(*[WRITE_A] * 4) for name in "AB"}
        report = explore(Race(name="many", setup=Memory, actors=actors, invariant=silent), limit=5)
        assert (report.ran, report.exhaustive) == (5, False)


class TestTime:
    def test_it_passes_at_every_place(self) -> None:
        def observe(world: Memory, turn: Turn) -> None:
            for _ in range(3):
                turn.do("look", lambda: world.log.append(str(len(world.cells))))

        seen: set[tuple[str, ...]] = set()
        race = Race(
            name="clock",
            setup=Memory,
            actors={"A": observe, "clock": time_passes(lambda world: world.cells.update(now=frozenset({"61"})))},
            invariant=lambda world, _outcomes: seen.add(tuple(world.log)),
        )
        explore(race).check()
        assert seen == {("0", "0", "0"), ("0", "0", "1"), ("0", "1", "1"), ("1", "1", "1")}


class TestActors:
    def test_what_one_raises_is_a_violation_with_its_schedule(self) -> None:
        def fail(_world: Memory, turn: Turn) -> None:
            turn.do("step", lambda: None)
            raise KeyError("missing")

        race = Race(name="raises", setup=Memory, actors={"A": fail}, invariant=silent)
        assert "KeyError: 'missing'\n  1. actor A: step" in str(explore(race).failures[0])

    def test_what_it_may_raise_is_none(self) -> None:
        def fail(_world: Memory, _turn: Turn) -> None:
            raise KeyError("missing")

        race = Race(name="raises", setup=Memory, actors={"A": fail}, invariant=silent, may_raise=(KeyError,))
        assert explore(race).check().ran == 1

    def test_one_that_hangs_is_told_where(self) -> None:
        let_go = threading.Event()

        def hang(_world: Memory, _turn: Turn) -> None:
            let_go.wait(20)

        race = Race(name="hangs", setup=Memory, actors={"A": hang}, invariant=silent, patience_s=0.2)
        with pytest.raises(OutOfStep, match=r"let_go\.wait"):
            explore(race)
        let_go.set()

    def test_one_with_two_calls_at_once_is_refused(self) -> None:
        late = threading.Event()
        refused = threading.Event()

        def interrupt(turn: Turn) -> None:
            late.wait(5)
            with pytest.raises(OutOfStep):
                turn.do("interruption", lambda: None)
            refused.set()

        def crowd(_world: Memory, turn: Turn) -> None:
            threading.Thread(target=interrupt, args=(turn,), daemon=True).start()
            turn.do("work", lambda: None)

        stage = Stage[Memory](actors={"A": crowd}, clients={"A": {}}, plans={}, keys={}, patience_s=5)
        stage.open(Memory())
        late.set()
        assert refused.wait(5)
        with pytest.raises(OutOfStep, match="two calls at once: interruption"):
            stage.take(Choice(actor="A"))

    def test_clients_cannot_be_shared(self, toy: Toy) -> None:
        race = Race(
            name="shared",
            setup=Memory,
            actors=dict.fromkeys("AB", program()),
            invariant=silent,
            connect=lambda: {"dynamodb": toy.dynamodb},
        )
        with pytest.raises(ValueError, match="clients of its own"):
            explore(race)

    def test_a_dead_one_takes_no_further_step_whatever_it_catches(self) -> None:
        def stubborn(world: Memory, turn: Turn) -> None:
            for number in range(3):
                try:
                    turn.do(f"step {number}", partial(world.log.append, str(number)))
                except BaseException:  # noqa: BLE001, S112 - this is what is tried
                    continue

        logs: list[list[str]] = []

        def note(world: Memory, outcomes: Mapping[str, Outcome]) -> None:
            logs.append(world.log)
            assert outcomes["A"].died

        race = Race(name="stubborn", setup=Memory, actors={"A": stubborn}, invariant=note)
        replay(race, "A A:before").check()
        replay(race, "A A:after").check()
        assert logs == [["0"], ["0", "1"]]


def test_more_schedules_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCHEDULES", raising=False)
    assert share(200) == 10
    monkeypatch.setenv("SCHEDULES", "20000")
    assert share(200) == 2000
    monkeypatch.setenv("SCHEDULES", "3")
    assert share(200) == 1
