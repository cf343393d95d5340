"""What holds of seats and of the requests for them."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.faults.broken import require
from tests.faults.case import Case
from tests.faults.history import Change


def seats_add_up(case: Case) -> None:
    """No more seats are reserved than there are, at no time; and what is reserved is what accepted attempts hold."""
    for change in _workshop_changes(case, "workshop"):
        assert change.after is not None
        row = change.after
        require(0 <= row.get("reserved", 0) <= row["capacity"], "more seats are reserved than there are")
        require(row["available"] + row["reserved"] == row["capacity"], "seats were lost or made")
    accepted = [row for row in _attempts_now(case) if row["decision"] == "accepted"]
    held = [row["seats"] for row in accepted if "canceled_at_ms" not in row]
    for row in _workshop_rows(case, "workshop"):
        require(row["reserved"] == sum(held), "what is reserved is not what accepted attempts hold")
        require(row.get("accepted", 0) == len(held), "accepted attempts are counted wrong")


def a_request_is_decided_once(case: Case) -> None:
    """A decision is written once, and nothing of it ever changes, but that it may be canceled."""
    for change in _workshop_changes(case, "attempt#"):
        require(change.after is not None, "a decision was lost")
        assert change.after is not None
        if change.before is not None:
            kept = {name: value for name, value in change.after.items() if name != "canceled_at_ms"}
            require(kept == change.before, "a decision was changed, or canceled twice")


def rejections_are_counted_once(case: Case) -> None:
    """The counters add up to the attempts that are recorded as rejected."""
    rejected = [row for row in _attempts_now(case) if row["decision"] == "rejected"]
    counted = sum(row["rejected"] for row in _workshop_rows(case, "rejected#"))
    require(counted == len(rejected), f"{len(rejected)} attempts were rejected, and {counted} are counted")


def nobody_is_told_full_where_it_was_not(case: Case) -> None:
    """Whoever was rejected had seen too few seats."""
    fewest, seen = 4, dict[str, int]()
    for change in case.changes:
        row = change.after
        if row is None or not str(row.get("pk", "")).startswith("workshop#"):
            continue
        if row["sk"] == "workshop":
            fewest = min(fewest, row["available"])
        elif row["sk"].startswith("attempt#"):
            seen.setdefault(row["sk"], fewest)
            require(row["decision"] == "accepted" or seen[row["sk"]] < row["seats"], "told full when it was not")


def reservations_were_told_as_they_are_recorded(case: Case) -> None:
    """Every answer is what is recorded, and is told as new at most once."""
    records = {row["request_id"]: row for row in _attempts_now(case)}
    told_as_new: Counter[str] = Counter()
    for answer in case.answers:
        if answer.status in (201, 409) and answer.asked.startswith("reserve"):
            row = records.get(answer.body["requestId"], {})
            require(row.get("decision") == answer.body["status"], "a decision was told that is not recorded")
            require(row.get("seats") == answer.body["seats"], "seats were told that are not recorded")
            require(answer.body["reserved"] <= answer.body["capacity"], "more seats were told than there are")
            told_as_new[answer.body["requestId"]] += not answer.body["replayed"]
        if answer.status == 200 and answer.asked.startswith("give back"):
            row = records.get(answer.body["requestId"], {})
            require("canceled_at_ms" in row, "seats were told to be given back, and were not")
    require(all(times <= 1 for times in told_as_new.values()), "a decision was told as new twice")


def _workshop_changes(case: Case, kind: str) -> list[Change]:
    """What happened to a workshop's rows of one kind."""
    return [change for change in case.changes if change.key.startswith("workshop#") and f"/{kind}" in change.key]


def _workshop_rows(case: Case, kind: str) -> list[Mapping[str, Any]]:
    """A workshop's rows of one kind as they are now."""
    rows = case.rows("StateTable").items()
    return [row for key, row in rows if key.startswith("workshop#") and f"/{kind}" in key]


def _attempts_now(case: Case) -> list[Mapping[str, Any]]:
    return _workshop_rows(case, "attempt#")


PROMISES: tuple[Callable[[Case], None], ...] = (
    seats_add_up,
    a_request_is_decided_once,
    rejections_are_counted_once,
    nobody_is_told_full_where_it_was_not,
    reservations_were_told_as_they_are_recorded,
)
