"""Credits: accounts, and entries that sum to the balance, which is never below zero.

    ledger.grant("ann", amount=100, grant_id="welcome")
    transact([Put(tasks, row, when=…), *ledger.charge("ann", amount=10, reason="image", task_id=…, at_ms=…)])

A charge or a refund is two writes for the transaction of whoever has a reason for it, so that neither can be without
the other; what makes that happen once makes them happen once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isolane.aws.table import Table
from isolane.aws.transaction import Put, Update, Write, transact
from isolane.contention import patience, persist
from isolane.cursor import cursor_of, position_of
from isolane.errors import IdempotencyMismatch, InvalidRequest, TransactionRefused

# The clauses of the conditions, each with the race that it closes.

COVERED = "#balance >= :amount"
"""Two who spend the same credits: the write that takes them is the one that looks."""
NOT_GRANTED = "attribute_not_exists(#pk)"
"""A grant that is made again because its answer was lost."""

_TAKE = "SET #balance = if_not_exists(#balance, :zero) - :amount"
_GIVE = "SET #balance = if_not_exists(#balance, :zero) + :amount"
_ENTRIES_AND_BALANCE = "#pk = :pk AND begins_with(#sk, :entries)"
_PREFIX = "entry#"
_BALANCE = f"{_PREFIX}999999999999999#balance"
"""As if it were the newest entry, so that a statement is one query."""
_GRANT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ENTRY_ID = re.compile(r"[!-~]{1,80}")
_LONGEST_OWNER = 256
MOST_CREDITS = 1_000_000_000
"""Of one grant."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Credits that came or went, and what for."""

    entry_id: str
    """What it is for: charge#TASK, refund#TASK or grant#ID."""
    credits: int
    """Above zero where they came, below where they went."""
    reason: str
    at_ms: int
    task_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """An account's balance, some of its entries, the newest first, and the cursor for those after them."""

    balance: int
    entries: list[Entry]
    cursor: str | None


@dataclass(frozen=True)
class Ledger:
    """All accounts of a deployment, in one table (State)."""

    table: Table
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], None] = time.sleep

    def charge(self, owner: str, *, amount: int, reason: str, task_id: str, at_ms: int) -> tuple[Write, Write]:
        """The writes that take credits. The second is refused, with the account that was found, where they are too few.

        A price of nothing is one, too, and needs no account.
        """
        entry = Entry(entry_id=f"charge#{task_id}", credits=-amount, reason=reason, at_ms=at_ms, task_id=task_id)
        return _added(self.table, owner, entry), Update(
            self.table,
            _account(owner),
            _TAKE,
            when=COVERED if amount else None,
            values={"amount": amount, "zero": 0},
        )

    def refund(self, owner: str, *, amount: int, reason: str, task_id: str, at_ms: int) -> tuple[Write, Write]:
        """The writes that give back what a task was charged."""
        entry = Entry(entry_id=f"refund#{task_id}", credits=amount, reason=reason, at_ms=at_ms, task_id=task_id)
        return _added(self.table, owner, entry), self._given(owner, amount)

    def grant(self, owner: str, *, amount: int, grant_id: str) -> int:
        """Gives credits, once for each id, and returns the balance after it.

        Raises InvalidRequest, and IdempotencyMismatch for an id that was used with other credits.
        """
        if not 0 < len(owner) <= _LONGEST_OWNER:
            raise InvalidRequest(f"Credits go to somebody, whose name has 1 to {_LONGEST_OWNER} characters.")
        if not 1 <= amount <= MOST_CREDITS:
            raise InvalidRequest(f"A grant is 1 to {MOST_CREDITS:,} credits.")
        if not _GRANT_ID.fullmatch(grant_id):
            raise InvalidRequest("A grant's id has 1 to 64 letters, digits, dots, underscores and hyphens.")
        persist(lambda: self._grant(owner, amount, grant_id=grant_id), until=patience(None), sleep=self.sleep)
        return self.balance(owner)

    def balance(self, owner: str) -> int:
        """What the owner has left; nobody has less than zero."""
        return balance_of(self.table.get(_account(owner)))

    def statement(self, owner: str, *, limit: int, cursor: str | None = None) -> Statement:
        """The balance, and a page of entries, with one query for the newest. Raises InvalidCursor."""
        after = {"pk": _partition(owner), "sk": _position(cursor)} if cursor is not None else None
        page = self.table.query(
            _ENTRIES_AND_BALANCE,
            values={"pk": _partition(owner), "entries": _PREFIX},
            limit=limit + 1 if after is None else limit,
            newest_first=True,
            after=after,
        )
        account = next((row for row in page.items if row["sk"] == _BALANCE), None)
        entries = [row for row in page.items if row is not account]
        return Statement(
            balance=balance_of(account) if account is not None else self.balance(owner),
            entries=[_entry(row) for row in entries],
            cursor=_cursor(page.after),
        )

    def _grant(self, owner: str, amount: int, *, grant_id: str) -> None:
        now_ms = int(self.clock() * 1000)
        entry = Entry(entry_id=f"grant#{grant_id}", credits=amount, reason="grant", at_ms=now_ms)
        once = {"pk": _partition(owner), "sk": entry.entry_id, "credits": amount}
        try:
            transact(
                [
                    Put(self.table, once, when=NOT_GRANTED),
                    _added(self.table, owner, entry),
                    self._given(owner, amount),
                ]
            )
        except TransactionRefused as refusal:
            granted = refusal.refusals[0]
            if granted is None or granted.found is None or granted.found["credits"] != amount:
                raise IdempotencyMismatch("This grant's id was used with other credits.") from None

    def _given(self, owner: str, amount: int) -> Update:
        return Update(self.table, _account(owner), _GIVE, values={"amount": amount, "zero": 0})


def balance_of(account: Mapping[str, Any] | None) -> int:
    """The balance in an account's row; who has no account has nothing."""
    return int(account["balance"]) if account is not None else 0


def _added(table: Table, owner: str, entry: Entry) -> Put:
    return Put(table, {"pk": _partition(owner), "sk": _place(entry.entry_id, entry.at_ms), **_to_row(entry)})


def _partition(owner: str) -> str:
    return f"account#{owner}"


def _account(owner: str) -> dict[str, str]:
    return {"pk": _partition(owner), "sk": _BALANCE}


def _place(entry_id: str, at_ms: int) -> str:
    """In the order of time."""
    return f"{_PREFIX}{at_ms:015d}#{entry_id}"


def _cursor(after: Mapping[str, Any] | None) -> str | None:
    """Where the page ended, which need not be at an entry of it: DynamoDB may answer with none, and more to come."""
    if after is None:
        return None
    at_ms, entry_id = after["sk"].removeprefix(_PREFIX).split("#", 1)
    return cursor_of({"t": entry_id, "c": int(at_ms)})


def _position(cursor: str) -> str:
    entry_id, at_ms = position_of(cursor, time="c", is_id=lambda text: _ENTRY_ID.fullmatch(text) is not None)
    return _place(entry_id, at_ms)


def _to_row(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in vars(entry).items() if value is not None}


def _entry(row: Mapping[str, Any]) -> Entry:
    return Entry(**{name: row[name] for name in Entry.__dataclass_fields__ if name in row})
