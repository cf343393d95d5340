"""Credits come and go by entries that sum to the balance, which is never below zero; on every backend."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.aws.transaction import transact
from isolane.errors import Contended, IdempotencyMismatch, InvalidCursor, InvalidRequest, TransactionRefused
from isolane.ledger import MOST_CREDITS, Entry, balance_of
from tests.world import World


def entries(world: World, owner: str = "ann") -> list[Entry]:
    return world.ledger.statement(owner, limit=100).entries


def charge(world: World, amount: int, *, task_id: str = "task-1", owner: str = "ann") -> None:
    at_ms = int(world.clock() * 1000)
    transact(world.ledger.charge(owner, amount=amount, reason="image", task_id=task_id, at_ms=at_ms))


def test_nobody_has_anything_at_first(world: World) -> None:
    statement = world.ledger.statement("ann", limit=10)
    assert (statement.balance, statement.entries, statement.cursor) == (0, [], None)


def test_a_grant_is_an_entry_and_counts_once(world: World) -> None:
    assert world.ledger.grant("ann", amount=100, grant_id="welcome") == 100
    world.clock.advance(60)
    assert world.ledger.grant("ann", amount=100, grant_id="welcome") == 100
    assert world.ledger.grant("ann", amount=5, grant_id="more") == 105
    assert [(entry.entry_id, entry.credits, entry.reason) for entry in entries(world)] == [
        ("grant#more", 5, "grant"),
        ("grant#welcome", 100, "grant"),
    ]
    assert world.ledger.balance("bob") == 0


def test_one_grants_id_with_other_credits_is_refused(world: World) -> None:
    world.ledger.grant("ann", amount=100, grant_id="welcome")
    with pytest.raises(IdempotencyMismatch):
        world.ledger.grant("ann", amount=101, grant_id="welcome")
    assert world.ledger.balance("ann") == 100


@pytest.mark.parametrize(
    ("owner", "amount", "grant_id"),
    [
        ("", 1, "id"),
        ("x" * 257, 1, "id"),
        ("ann", 0, "id"),
        ("ann", -5, "id"),
        ("ann", MOST_CREDITS + 1, "id"),
        ("ann", 1, ""),
        ("ann", 1, "a b"),
    ],
)
def test_what_is_no_grant_is_refused(world: World, owner: str, amount: int, grant_id: str) -> None:
    with pytest.raises(InvalidRequest):
        world.ledger.grant(owner, amount=amount, grant_id=grant_id)


def test_a_charge_takes_what_is_there_and_says_what_it_was_for(world: World) -> None:
    world.ledger.grant("ann", amount=10, grant_id="welcome")
    world.clock.advance(1)
    charge(world, 10)
    spent = entries(world)[0]
    assert (spent.entry_id, spent.credits, spent.reason, spent.task_id) == ("charge#task-1", -10, "image", "task-1")
    assert world.ledger.balance("ann") == 0


@pytest.mark.parametrize("balance", [0, 9])
def test_a_charge_that_is_not_covered_changes_nothing_and_says_what_there_is(world: World, balance: int) -> None:
    if balance:
        world.ledger.grant("ann", amount=balance, grant_id="welcome")
    before = entries(world)
    with pytest.raises(TransactionRefused) as refused:
        charge(world, 10)
    account = refused.value.refusals[1]
    assert account is not None
    assert balance_of(account.found) == balance == world.ledger.balance("ann")
    assert entries(world) == before


def test_a_price_of_nothing_needs_no_credits(world: World) -> None:
    charge(world, 0)
    assert [(entry.entry_id, entry.credits) for entry in entries(world)] == [("charge#task-1", 0)]
    assert world.ledger.balance("ann") == 0


def test_a_refund_gives_back_what_was_taken(world: World) -> None:
    world.ledger.grant("ann", amount=10, grant_id="welcome")
    charge(world, 10)
    world.clock.advance(5)
    at_ms = int(world.clock() * 1000)
    transact(world.ledger.refund("ann", amount=10, reason="lost", task_id="task-1", at_ms=at_ms))
    assert entries(world)[0] == Entry(
        entry_id="refund#task-1", credits=10, reason="lost", task_id="task-1", at_ms=at_ms
    )
    assert world.ledger.balance("ann") == 10 == sum(entry.credits for entry in entries(world))


@pytest.mark.usefixtures("atomic")
def test_of_two_who_spend_the_same_credits_one_does(world: World) -> None:
    world.ledger.grant("ann", amount=30, grant_id="welcome")

    def spend(number: int) -> bool:
        while True:
            try:
                charge(world, 10, task_id=f"task-{number}")
            except TransactionRefused:
                return False
            except Contended:
                continue
            return True

    with ThreadPoolExecutor(8) as threads:
        spent = list(threads.map(spend, range(8)))
    assert spent.count(True) == 3
    assert world.ledger.balance("ann") == 0 == sum(entry.credits for entry in entries(world))


def test_a_statement_comes_by_pages_newest_first(world: World) -> None:
    for number in range(5):
        world.ledger.grant("ann", amount=1, grant_id=f"grant-{number}")
        world.clock.advance(1)
    seen: list[str] = []
    cursor = None
    while True:
        page = world.ledger.statement("ann", limit=2, cursor=cursor)
        assert page.balance == 5
        assert len(page.entries) <= 2
        seen += [entry.entry_id for entry in page.entries]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [f"grant#grant-{number}" for number in (4, 3, 2, 1, 0)]


def test_a_page_without_entries_leads_on_all_the_same(world: World) -> None:
    for number in range(3):
        world.ledger.grant("ann", amount=1, grant_id=f"grant-{number}")
        world.clock.advance(1)
    events = world.client("dynamodb").meta.events

    def emptied(parsed: dict[str, Any], **_: Any) -> None:
        parsed.update(Items=[], Count=0)

    events.register("after-call.dynamodb.Query", emptied)
    try:
        page = world.ledger.statement("ann", limit=2)
    finally:
        events.unregister("after-call.dynamodb.Query", emptied)
    assert (page.entries, page.balance) == ([], 3)
    following = world.ledger.statement("ann", limit=2, cursor=page.cursor)
    assert [entry.entry_id for entry in following.entries] == ["grant#grant-0"]


def test_a_cursor_of_something_else_is_refused(world: World) -> None:
    for cursor in ("", "nonsense", "eyJ0IjogImdyYW50I-KCrCIsICJjIjogMX0"):
        with pytest.raises(InvalidCursor):
            world.ledger.statement("ann", limit=2, cursor=cursor)


def test_a_page_holds_as_many_entries_as_were_asked_for(world: World) -> None:
    for number in range(3):
        world.ledger.grant("ann", amount=1, grant_id=f"grant-{number}")
    for limit in (1, 2, 3, 4):
        assert len(world.ledger.statement("ann", limit=limit).entries) == min(limit, 3)


def test_entries_of_one_moment_are_all_there(world: World) -> None:
    for number in range(3):
        world.ledger.grant("ann", amount=1, grant_id=f"grant-{number}")
    assert len(entries(world)) == 3
