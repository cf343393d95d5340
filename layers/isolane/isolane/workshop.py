"""What a workshop is: its seats, the attempts to reserve some, and what a refused attempt comes to.

    capacity = available + reserved, and reserved = the seats of accepted attempts that were not canceled, always

A row holds `capacity`, `available`, `reserved` and `accepted` (how many attempts hold seats); a workshop that nobody
has touched has no row, and FIRST_CAPACITY seats. `available` and `reserved` are both there because a condition can
compare an attribute with a number and cannot calculate. Each attempt has a row: its first decision, for ever.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from isolane.errors import Contended, InvalidRequest, TransactionRefused

FIRST_CAPACITY = 4
"""Seats of a workshop that is new."""
MOST_CAPACITY = 1_000_000
FEWEST_SEATS, MOST_SEATS = 1, 4
"""Seats of one attempt."""
COUNTERS = 8
"""Rows over which rejections are counted: where seats are gone they come fast, and none has to wait for another."""

_WORKSHOP = re.compile(r"[a-z][a-z0-9-]{0,31}")
_REQUEST_ID = re.compile(r"[a-z][a-z0-9-]{2,47}")


class Decision(StrEnum):
    """What became of an attempt; it never changes."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, kw_only=True)
class Seats:
    """How a workshop stands."""

    capacity: int
    reserved: int


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Somebody's attempt to reserve seats, as it was decided."""

    workshop: str
    request_id: str
    seats: int
    caller: str
    """Who made it, and may cancel it."""
    nonce: str
    """The call that it was decided in: whoever finds its own has decided it, and only missed the answer."""
    decision: Decision
    decided_at_ms: int
    canceled: bool = False

    def rejected(self) -> Attempt:
        """The same attempt, where there are too few seats."""
        return replace(self, decision=Decision.REJECTED)


@dataclass(frozen=True, kw_only=True)
class Status:
    """A workshop's seats and how its attempts went; canceled ones are no longer among the accepted."""

    seats: Seats
    accepted: int
    rejected: int


def check_workshop(name: str) -> None:
    if not _WORKSHOP.fullmatch(name):
        raise InvalidRequest("A workshop's name is not valid.", code="invalid_workshop_name")


def check_request_id(request_id: str) -> None:
    if not _REQUEST_ID.fullmatch(request_id):
        raise InvalidRequest("A request id is not valid.", code="invalid_reservation")


def check_seats(seats: int) -> None:
    if not FEWEST_SEATS <= seats <= MOST_SEATS:
        raise InvalidRequest(f"{FEWEST_SEATS} to {MOST_SEATS} seats can be reserved.", code="invalid_reservation")


def check_capacity(capacity: int) -> None:
    if not 0 <= capacity <= MOST_CAPACITY:
        raise InvalidRequest(f"A workshop has 0 to {MOST_CAPACITY:,} seats.", code="invalid_reservation")


def decide(refusal: TransactionRefused) -> Attempt | Seats:
    """What the refusal of (attempt, seats) means: the decision that there is already, or the seats that are too few."""
    attempt, seats = refusal.refusals
    if attempt is None and seats is not None and seats.found is not None:
        return to_seats(seats.found)
    return first_decision(refusal)


def first_decision(refusal: TransactionRefused) -> Attempt:
    """The attempt whose being there has refused the first write of a transaction."""
    attempt = refusal.refusals[0]
    if attempt is None or attempt.found is None:
        raise Contended  # attempts never go, so what refused it can only be found by looking again
    return to_attempt(attempt.found)


def workshop_key(name: str) -> dict[str, str]:
    return {"pk": f"workshop#{name}", "sk": "workshop"}


def attempt_key(workshop: str, request_id: str) -> dict[str, str]:
    return {"pk": f"workshop#{workshop}", "sk": f"attempt#{request_id}"}


def counter_key(workshop: str, request_id: str) -> dict[str, str]:
    """One of the rows that count rejections, always the same for one request."""
    return {"pk": f"workshop#{workshop}", "sk": f"rejected#{zlib.crc32(request_id.encode()) % COUNTERS}"}


COUNTERS_AND_WORKSHOP = "#pk = :pk AND #sk BETWEEN :first AND :last"
"""The rows that a status is made of, and no attempt: their keys lie side by side."""


def status_range(workshop: str) -> dict[str, str]:
    return {"pk": f"workshop#{workshop}", "first": "rejected#", "last": "workshop"}


def to_row(attempt: Attempt) -> dict[str, Any]:
    fields = ("workshop", "request_id", "seats", "caller", "nonce", "decision", "decided_at_ms")
    row = {name: getattr(attempt, name) for name in fields}
    return {**attempt_key(attempt.workshop, attempt.request_id), **row, "decision": str(attempt.decision)}


def to_attempt(row: Mapping[str, Any]) -> Attempt:
    return Attempt(
        workshop=row["workshop"],
        request_id=row["request_id"],
        seats=row["seats"],
        caller=row["caller"],
        nonce=row["nonce"],
        decision=Decision(row["decision"]),
        decided_at_ms=row["decided_at_ms"],
        canceled="canceled_at_ms" in row,
    )


def to_seats(row: Mapping[str, Any] | None) -> Seats:
    """The seats in a workshop's row; no row is a workshop that nobody has touched."""
    if row is None:
        return Seats(capacity=FIRST_CAPACITY, reserved=0)
    return Seats(capacity=row["capacity"], reserved=row["reserved"])


def to_status(rows: Iterable[Mapping[str, Any]]) -> Status:
    by_key = {row["sk"]: row for row in rows}
    workshop = by_key.pop("workshop", None)
    return Status(
        seats=to_seats(workshop),
        accepted=workshop["accepted"] if workshop is not None and "accepted" in workshop else 0,
        rejected=sum(row["rejected"] for row in by_key.values()),
    )
