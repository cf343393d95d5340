"""The checker of histories: it lets through what can have happened, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest

from tests.e2e.linearizability import Call, problems

CAPACITY = 4


def call(request_id: str, began_s: float, ended_s: float, outcome: str, seats: int = 1, **seen: object) -> Call:
    kind = "cancel" if outcome in ("canceled", "not_found") else "reserve"
    made = Call(kind=kind, request_id=request_id, seats=seats, began_s=began_s, ended_s=ended_s, outcome=outcome)
    return replace(made, **seen)  # type: ignore[arg-type]  # fields of a call, by name


GOOD = {
    "nothing": [],
    "one after the other": [call("a", 0, 1, "accepted", 3, reserved=3), call("b", 2, 3, "rejected", 2, reserved=3)],
    "at once, in the order of their ends": [
        call("a", 0, 9, "rejected", 2, reserved=3),
        call("b", 1, 2, "accepted", 3, reserved=3),
    ],
    "a look that came after somebody else": [
        call("a", 0, 9, "accepted", 1, reserved=4),
        call("b", 1, 2, "accepted", 3, reserved=3),
    ],
    "seats that came back": [
        call("a", 0, 1, "accepted", 4, reserved=4),
        call("a", 2, 3, "canceled", 4, reserved=0),
        call("b", 4, 5, "accepted", 1, reserved=1),
        call("a", 6, 7, "accepted", 4, replayed=True, reserved=1),
    ],
    "decided by a call that nobody heard of": [
        call("a", 0, 1, "", 4),
        call("a", 2, 3, "accepted", 4, replayed=True, reserved=4),
    ],
    "canceled before it came": [call("a", 0, 1, "not_found"), call("a", 2, 3, "accepted", reserved=1)],
}
BAD = {
    "more than there are": [call("a", 0, 1, "accepted", 3), call("b", 2, 3, "accepted", 2)],
    "told of more than there are": [call("a", 0, 1, "accepted", 3, reserved=5)],
    "full where it was not": [call("a", 0, 1, "accepted", 2, reserved=2), call("b", 2, 3, "rejected", 2)],
    "both decisions": [call("a", 0, 1, "accepted"), call("a", 2, 3, "rejected", replayed=True)],
    "decided twice": [call("a", 0, 1, "accepted"), call("a", 2, 3, "accepted")],
    "replayed and never decided": [call("a", 0, 1, "accepted", replayed=True)],
    "given back twice": [
        call("a", 0, 1, "accepted", 2, reserved=2),
        call("b", 2, 3, "accepted", 2, reserved=4),
        call("a", 4, 5, "canceled", 2, reserved=2),
        call("a", 6, 7, "canceled", 2, reserved=0),
    ],
    "an old number of seats": [
        call("a", 0, 1, "accepted", 2, reserved=2),
        call("b", 2, 3, "accepted", 1, reserved=3),
        call("c", 4, 5, "accepted", 1, reserved=3),
    ],
    "unknown after it was accepted": [call("a", 0, 1, "accepted"), call("a", 2, 3, "not_found")],
    "canceled and never accepted": [call("a", 0, 1, "rejected", 4), call("a", 2, 3, "canceled", 4)],
    "replayed before it was decided": [
        call("a", 0, 1, "accepted", 4, replayed=True, reserved=4),
        call("b", 0, 1, "accepted", 1, reserved=1),
        call("a", 2, 3, "accepted", 4, reserved=4),
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_what_can_have_happened_is_let_through(name: str) -> None:
    assert problems(GOOD[name], capacity=CAPACITY) == []


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_is_not(name: str) -> None:
    assert problems(BAD[name], capacity=CAPACITY) != []


def lived(chance: random.Random, *, calls: int, clients: int, capacity: int) -> list[Call]:
    """A history that has happened: each call's moments are drawn, and its answer is worked out at these moments."""
    reserved, records, busy_until = 0, dict[str, tuple[str, int]](), [0.0] * clients
    canceled, history = set[str](), list[Call]()
    for number in range(calls):
        at_s, looks_s = number + 0.25, number + 0.25
        client = chance.randrange(clients)
        began_s = max(busy_until[client], at_s - chance.random() * clients)
        if began_s >= at_s:  # the client is busy
            continue
        ended_s = looks_s + chance.random() / 2
        busy_until[client] = ended_s
        name = f"r{chance.randrange(calls)}"
        seats = records[name][1] if name in records else chance.randint(1, 4)
        if chance.random() < 0.25:
            outcome = "canceled" if records.get(name, ("", 0))[0] == "accepted" else "not_found"
            if outcome == "canceled" and name not in canceled:
                canceled.add(name)
                reserved -= seats
            replayed = False
        else:
            replayed = name in records
            decision = "accepted" if reserved + seats <= capacity else "rejected"
            outcome = records.setdefault(name, (decision, seats))[0]
            reserved += seats if outcome == "accepted" and not replayed else 0
        history.append(
            call(name, began_s, ended_s, outcome, seats, replayed=replayed, reserved=reserved)
            if outcome != "not_found"
            else call(name, began_s, ended_s, outcome, seats)
        )
    return history


@pytest.mark.parametrize("seed", range(12))
def test_histories_that_have_happened_are_let_through(seed: int) -> None:
    history = lived(random.Random(seed), calls=300, clients=16, capacity=20)
    assert len(history) > 50
    assert problems(history, capacity=20) == []


@pytest.mark.parametrize("seed", range(8))
def test_with_one_answer_changed_they_are_not(seed: int) -> None:
    chance = random.Random(seed)
    history = lived(chance, calls=60, clients=1, capacity=10)
    fresh = [each for each in history if each.outcome in ("accepted", "rejected") and not each.replayed]
    changed = chance.choice(fresh)
    other = "rejected" if changed.outcome == "accepted" else "accepted"
    assert problems([replace(e, outcome=other) if e is changed else e for e in history], capacity=10) != []


def possible(calls: list[Call]) -> bool:
    """The plain definition, for a few reservations without replays: some order of them gives the answers."""
    for order in permutations(calls):
        reserved = 0
        for position, each in enumerate(order):
            late = any(later.ended_s < each.began_s for later in order[position + 1 :])
            fits = reserved + each.seats <= CAPACITY
            reserved += each.seats if fits else 0
            if late or each.outcome != ("accepted" if fits else "rejected") or each.reserved != reserved:
                break
        else:
            return True
    return False


def test_it_agrees_with_the_plain_definition_on_small_histories() -> None:
    """Where an answer's number of seats was seen at the moment of its decision, as here, both ask the same."""
    chance, verdicts = random.Random(7), []
    for _ in range(400):
        calls = []
        for number in range(4):
            began_s = chance.randint(0, 6)
            seen = {"reserved": chance.randint(0, CAPACITY)}
            outcome = chance.choice(["accepted", "accepted", "rejected"])
            ended_s = began_s + chance.randint(1, 4)
            calls.append(call(f"r{number}", began_s, ended_s + 0.5, outcome, chance.randint(1, 3), **seen))
        if possible(calls):
            assert problems(calls, capacity=CAPACITY) == []
        verdicts.append(possible(calls))
    assert any(verdicts)
