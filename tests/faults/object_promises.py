"""What holds of named objects, their commands and their alarms."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.faults.broken import require
from tests.faults.case import Case
from tests.faults.history import Change


def an_object_changes_one_version_at_a_time(case: Case) -> None:
    """Each version is made of the one before it, and none is written over another."""
    for change in _object_changes(case):
        require(change.after is not None, "an object was lost")
        assert change.after is not None
        before = change.before or {"version": 0}
        if {**before, "due": "", "due_at": 0} == {**change.after, "due": "", "due_at": 0}:
            continue  # the sweeper has taken its alarm out of the index
        require(change.after["version"] == before["version"] + 1, "a version was left out, or written twice")


def no_value_twice_and_none_left_out(case: Case) -> None:
    """A counter's values are told to one call each, or to one command; those of commands are all told."""
    told: dict[int, set[str]] = {}
    for number, answer in enumerate(case.answers):
        if answer.status == 200 and answer.asked.startswith("next"):
            caller = answer.asked if answer.asked != "next None" else f"call {number}"
            told.setdefault(answer.body["value"], set()).add(caller)
    require(all(len(callers) == 1 for callers in told.values()), "a value was given out twice")
    commands = [caller for callers in told.values() for caller in callers if caller.startswith("next")]
    require(len(commands) == len(set(commands)), "a command was carried out twice")
    values = [json.loads(row["state"])["value"] for row in _objects_now(case, "Tickets")]
    require(set(told) <= set(range(1, max(values, default=0) + 1)), "a value was told that was not given out")


def a_command_is_answered_the_same_again(case: Case) -> None:
    """And only the first answer is not told as a replay."""
    for asked in {answer.asked for answer in case.answers if answer.asked.startswith(("next ", "join "))}:
        bodies = [answer.body for answer in case.answers if answer.asked == asked and answer.status == 200]
        if not asked.endswith(" None"):
            require(all(body == bodies[0] for body in bodies), "a command was answered in two ways")


def members_are_there_once(case: Case) -> None:
    """A room has nobody twice, and everybody who was told to be in it; who came in is among those that it is told."""
    members = [who for row in _objects_now(case, "Room") for who in json.loads(row["state"])["members"]]
    require(len(members) == len(set(members)), "somebody is in a room twice")
    told = [answer for answer in case.answers if answer.asked.startswith("join") and answer.status == 200]
    require(all(set(a.body["members"]) <= set(members) for a in told), "somebody was told to be in a room, and is not")
    require(all(a.who in a.body["members"] for a in told), "somebody came in, and was told of a room without them")


def alarms_ring_at_their_time(case: Case) -> None:
    """None early, none that was moved or has rung already, and at rest each that was set has rung."""
    for change in _object_changes(case):
        before, after = change.before or {}, change.after or {}
        if _closed(after) and not _closed(before):
            require(before.get("alarm_at_ms", change.at_ms + 1) <= change.at_ms, "a room closed before its time")
    for row in _objects_now(case, "Room"):
        require("alarm_at_ms" not in row, "an alarm was forgotten")
        told = any(answer.asked == "close" and answer.status == 200 for answer in case.answers)
        require(_closed(row) or not told, "a room was told to close, and is open")


def _closed(row: Mapping[str, Any]) -> bool:
    return bool(json.loads(row.get("state", "{}")).get("closed"))


def _object_changes(case: Case) -> list[Change]:
    return [change for change in case.changes if change.key.startswith("object#")]


def _objects_now(case: Case, kind: str) -> list[Mapping[str, Any]]:
    rows = case.rows("StateTable").items()
    return [row for key, row in rows if key.startswith(f"object#{kind}#")]


PROMISES: tuple[Callable[[Case], None], ...] = (
    an_object_changes_one_version_at_a_time,
    no_value_twice_and_none_left_out,
    a_command_is_answered_the_same_again,
    members_are_there_once,
    alarms_ring_at_their_time,
)
