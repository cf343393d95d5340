"""What holds of what guards a model: permits, breakers, flights, and the parts that are paid for."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from isolane.breaker import KEPT_S
from tests.faults.broken import require
from tests.faults.case import CLAIM_S, Case
from tests.faults.right_answers import cache_key_of, parts_in


def permits_add_up(case: Case) -> None:
    """After every write, the permits of all leases and the free ones are the limit, and fences only grow."""
    for before, row in _rows_of(case, kind="permits"):
        out = sum(lease["count"] for lease in row["leases"].values())
        require(out + row["free"] == row["limit"], f"{out} permits are out and {row['free']} free: {row['limit']}")
        require(row["free"] >= 0, "more permits are out than there are")
        require(before.get("fence", 0) <= row["fence"], "a fence became smaller")
        for holder in before.get("fences", {}).keys() & row["fences"].keys():
            require(before["fences"][holder] == row["fences"][holder], "a lease was given to its holder twice")


def a_lease_asks_once(case: Case) -> None:
    """A guarded model is asked at most once for each lease that was given, and of a long text once about each part."""
    given = max((row["fence"] for _, row in _rows_of(case, kind="permits")), default=None)
    asked = sum(max(map(case.asked.count, parts_in(text))) for text in case.texts)
    require(given is None or asked <= given, f"the model was asked {asked} times on {given} leases")


def an_open_breaker_is_left_alone(case: Case) -> None:
    """Nobody asks the model while its breaker is open, but for those who looked at it just before."""
    for change in case.changes:
        if change.table == "StateTable" and change.after is not None and "open_until_ms" in change.after:
            since_ms = change.at_ms + int(KEPT_S * 1000) + CLAIM_S * 1000
            asked = [at_ms for at_ms in case.asked_ms if since_ms < at_ms < change.after["open_until_ms"]]
            require(not asked, "the model was asked while its breaker was open")


def one_call_a_flight(case: Case) -> None:
    """A guarded model is asked about a text once for each flight, and a flight begins where no other one lives.

    So it is asked once, unless who flew has died or failed.
    """
    flights: Counter[str] = Counter()
    for change in case.changes:
        if change.table == "ValuesTable" and change.after is not None and "flight" in change.after:
            flights[change.key] += 1
            require(change.before is None or _is_over(change.before, change.at_ms), "two flights at once")
    for text in case.texts:
        times, most = max(case.asked.count(part) for part in parts_in(text)), flights[cache_key_of(text)]
        require(not flights or times <= most, f"the model was asked {times} times in {most} flights")


def no_part_is_paid_twice(case: Case) -> None:
    """The model is never asked about a part whose score is kept."""
    require(not case.paid_twice, "a part was paid for that was there")


def _is_over(row: Mapping[str, Any], at_ms: int) -> bool:
    """Whether a flight has lapsed by then, or a value expired."""
    return bool(row.get("flight_until_ms", row["expires_at"] * 1000) <= at_ms)


def _rows_of(case: Case, *, kind: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """What was there before and after each write of State's rows of a kind."""
    for change in case.changes:
        if change.table == "StateTable" and change.after is not None and change.after["sk"] == kind:
            yield change.before or {}, change.after


PROMISES: tuple[Callable[[Case], None], ...] = (
    permits_add_up,
    a_lease_asks_once,
    an_open_breaker_is_left_alone,
    one_call_a_flight,
    no_part_is_paid_twice,
)
