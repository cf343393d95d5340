"""The invariants, each once, in words and in code: what holds at rest, whatever went wrong on the way.

    check(case)                        # all of PROMISES
    check(case, promises=[*PROMISES, seats_add_up])

A promise is a function that takes the evidence of a case (every change of every row in order, every call to the model,
every answer that reached a caller) and raises `Broken`. A later system adds its own functions to PROMISES, and its
tables to the lab.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from isolane.breaker import KEPT_S
from isolane.model_errors import InputTooLong, ModelRefused
from isolane.task import RESULT_S, REVIEWS, Status, Task, text_name, timestamp
from tests.faults import embedding_promises
from tests.faults.broken import require
from tests.faults.history import Change, Move
from tests.faults.lab import (
    CLAIM_S,
    MAX_ATTEMPTS,
    VERDICTS,
    Answered,
    Case,
    cache_key_of,
    fingerprint_of,
    parts_in,
    score_of,
)

Promise = Callable[[Case], None]

WITHOUT_A_LETTER = frozenset({"timed_out", ModelRefused.code, InputTooLong.code})
"""Why a task may fail without anybody having to look at its message."""
_WORK = (Status.PENDING, Status.PROCESSING)
_OPEN = (*_WORK, Status.IN_REVIEW)
_PARTS = ("score-part#", "score-summary#")
_FIXED = ("owner", "kind", "fingerprint", "created_at_ms", "nonce")


def terminal_once(case: Case) -> None:
    """What was terminal once never changes, but to make way for a new task after it has expired."""
    for move in case.moves:
        if move.before is not None and move.before.terminal and move.after is not None:
            require(_is_reborn(move), f"a terminal task was changed: {move}")


def moves_are_legal(case: Case) -> None:
    """Every change of a task is one of the drawn moves, made by who may make it, in time."""
    for move in case.moves:
        if move.after is None:
            require(move.before is not None and move.before.ttl * 1000 < move.at_ms, f"a row was lost: {move}")
        elif move.before is None or _is_reborn(move):
            require(_may_be_born(move.after), f"a task was born wrongly: {move}")
        else:
            require(_may_move(move.before, move.after, move=move), f"this move is not drawn: {move}")


def attempts_are_claims(case: Case) -> None:
    """An attempt is counted when a claim is won, taken off when one is given up untried, and never else."""
    for move in case.moves:
        if move.before is None or move.after is None or _is_reborn(move):
            continue
        counted = move.after.attempt - move.before.attempt
        require(counted == _claims_won(move) or _is_given_up(move, counted=counted), f"attempts counted wrong: {move}")
        require(move.after.attempt <= MAX_ATTEMPTS, f"more attempts than there are: {move}")


def the_model_is_asked_once_an_attempt(case: Case) -> None:
    """The model is asked at most once for each counted attempt; so once where nobody dies and it does not fail.

    Where it was asked and nobody knows what came of it, the attempt is counted all the same, for all to see.
    """
    won = _attempts(case)
    for text, times in Counter(case.asked).items():
        most = sum(won[fingerprint_of(whole)] for whole in case.texts if text in (whole, *parts_in(whole)))
        require(times <= most, f"the model was asked {times} times in {most} attempts")


def nothing_is_lost(case: Case) -> None:
    """At rest each task is terminal or waits for a human, as a row always has a message; what was answered is there."""
    tasks = _tasks(case)
    for task in tasks.values():
        require(task.terminal or task.status is Status.IN_REVIEW, f"it has no message and is {task.status} for ever")
    for answer in case.answers:
        if answer.asked.startswith("submit") and answer.status in (200, 202):
            require(answer.body["taskId"] in tasks, "a submit was answered, and its task does not exist")


def results_are_right(case: Case) -> None:
    """A completed task has the score of its own text, or its reviewer's; no other has one, but in review for now."""
    scores = {fingerprint_of(text): score_of(text) for text in case.texts}
    for move in case.moves:
        task = move.after
        if task is None:
            continue
        if task.status is Status.COMPLETED:
            right = VERDICTS[task.reviewer] if task.reviewer is not None else scores[task.fingerprint]
            require(task.result["score"] == right, f"it has the score of another text: {move}")
        else:
            require(task.result is None, f"it has a result, and is {task.status}")
        if task.status is not Status.IN_REVIEW:
            require(task.provisional is None, f"it has a provisional score, and is {task.status}")


def what_waits_for_a_human_can_be_found_and_judged(case: Case) -> None:
    """A task in review is in the index, due at its deadline, and its text is kept; what has ended is owed nothing."""
    for task in _tasks(case).values():
        if task.status is Status.IN_REVIEW:
            require((task.due, task.due_at) == (REVIEWS, task.deadline_ms // 1000), "nobody will find it")
            require(text_name(task.task_id, task.nonce) in case.kept, "nobody can read it")
        if task.terminal:
            require(task.due is None, "it has ended, and is still due")


def a_verdict_stands(case: Case) -> None:
    """Who was told that their verdict counts was told so for good, and nobody else was."""
    told = {answer.asked.removeprefix("judge ") for answer in case.answers if _is_verdict(answer)}
    require(len(told) <= 1, "two verdicts count")
    for answer in filter(_is_verdict, case.answers):
        task = _tasks(case)[answer.body["taskId"]]
        require(task.reviewer in told and task.status is Status.COMPLETED, "a verdict was told, and is not there")


def the_cache_holds_results(case: Case) -> None:
    """The cache holds only results that completed a task, each under the key of its own text."""
    texts = {cache_key_of(text): text for text in case.texts}
    done: set[str] = set()
    for change in case.changes:
        if change.table == "TasksTable" and change.after is not None and _is_scored(change.after):
            done.add(change.after["fingerprint"])
        if change.table == "ValuesTable" and change.after is not None and "flight" not in change.after:
            if change.key.startswith((*_PARTS, "command#", *embedding_promises.OF_EMBEDDINGS)):
                continue
            text = texts.get(change.key)
            require(text is not None, "something is cached under a key of nobody's")
            assert text is not None
            value = json.loads(change.after["value"])
            require(value["result"]["score"] == score_of(text), "the score of another text is cached")
            require(fingerprint_of(text) in done or case.cached_before, "what completed no task is cached")


def a_dead_letter_is_kept_and_its_task_failed(case: Case) -> None:
    """A task that was given up has its letter in State; a letter that is kept has a task that failed."""
    tasks = _tasks(case)
    others = embedding_promises.documents_letters(case)
    rows = [row for row in case.rows("StateTable").values() if row["pk"] == "dead-letters" and row not in others]
    letters = {row["sk"]: row for row in rows}
    for task in tasks.values():
        given_up = task.error is not None and task.error.code not in WITHOUT_A_LETTER
        if task.status is Status.FAILED and given_up:
            require(task.task_id in letters, "a task was given up, and nobody can see of what")
    for name, letter in letters.items():
        found = tasks.get(name)
        require(found is not None, "a letter is kept for a task that does not exist")
        assert found is not None
        require(found.status is Status.FAILED, f"a dead letter is kept, and its task is {found.status}")
        require(bool(letter["reason"]), "a letter without a reason")


def callers_were_told_the_truth(case: Case) -> None:
    """Nobody gets a 500; what was told as terminal is so; a submit's task is about the text that was sent."""
    seen = {(move.after.task_id, str(move.after.status)) for move in case.moves if move.after is not None}
    prints = {(move.after.task_id, move.after.fingerprint) for move in case.moves if move.after is not None}
    for answer in case.answers:
        require(answer.status < 500 or answer.status == 503, f"{answer.asked}: {answer.status}")
        if answer.status in (200, 202) and "taskId" in answer.body:
            told = answer.body["taskId"], answer.body["status"]
            require(told in seen, f"{answer.asked}: {told[1]}, which it never was")
        if answer.text is not None and answer.status in (200, 202):
            about = answer.body["taskId"], fingerprint_of(answer.text)
            require(about in prints, "a submit was answered with a task about another text")


def a_cancellation_stands(case: Case) -> None:
    """Who was told that their task is canceled was told so for good: it is the state that this task ended in."""
    seen = [move.after for move in case.moves if move.after is not None]
    canceled = {(task.task_id, task.created_at_ms) for task in seen if task.status is Status.CANCELED}
    for answer in case.answers:
        if answer.asked.startswith("cancel") and answer.status == 202:
            told = {task_id for task_id, at_ms in canceled if timestamp(at_ms) == answer.body["createdAt"]}
            require(answer.body["taskId"] in told, "a cancellation was told, and is not there")


def one_task_a_key(case: Case) -> None:
    """Submits under one key are answered with one task, made once, until it has expired."""
    for key in {answer.asked for answer in case.answers if answer.asked.startswith("submit key")}:
        told = {a.body["taskId"] for a in case.answers if a.asked == key and a.status in (200, 202)}
        require(len(told) <= 1, f"{key}: answered with {len(told)} tasks")
    # That it was made once is `moves_are_legal`: a birth over a living row is not drawn.


def nothing_was_wasted(case: Case) -> None:
    """Every attempt asked the model, and all it said was used: so it is where nobody dies and the SDK asks again."""
    for text in case.texts:
        asked, won = case.asked.count(text), _attempts(case)[fingerprint_of(text)]
        require(asked == won, f"{won} attempts were counted, and the model was asked {asked} times")


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


# Reservations


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


# Named objects


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


PROMISES: tuple[Promise, ...] = (
    terminal_once,
    moves_are_legal,
    attempts_are_claims,
    the_model_is_asked_once_an_attempt,
    nothing_is_lost,
    results_are_right,
    what_waits_for_a_human_can_be_found_and_judged,
    a_verdict_stands,
    the_cache_holds_results,
    a_dead_letter_is_kept_and_its_task_failed,
    callers_were_told_the_truth,
    a_cancellation_stands,
    one_task_a_key,
    permits_add_up,
    a_lease_asks_once,
    an_open_breaker_is_left_alone,
    seats_add_up,
    a_request_is_decided_once,
    rejections_are_counted_once,
    nobody_is_told_full_where_it_was_not,
    reservations_were_told_as_they_are_recorded,
    one_call_a_flight,
    no_part_is_paid_twice,
    an_object_changes_one_version_at_a_time,
    no_value_twice_and_none_left_out,
    a_command_is_answered_the_same_again,
    members_are_there_once,
    alarms_ring_at_their_time,
    *embedding_promises.PROMISES,
)


def check(case: Case, *, promises: Iterable[Promise] = PROMISES) -> None:
    """Raises the first promise that was not kept."""
    for promise in promises:
        promise(case)


def _is_over(row: Mapping[str, Any], at_ms: int) -> bool:
    """Whether a flight has lapsed by then, or a value expired."""
    return bool(row.get("flight_until_ms", row["expires_at"] * 1000) <= at_ms)


def _rows_of(case: Case, *, kind: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """What was there before and after each write of State's rows of a kind."""
    for change in case.changes:
        if change.table == "StateTable" and change.after is not None and change.after["sk"] == kind:
            yield change.before or {}, change.after


def _attempts(case: Case) -> Counter[str]:
    """How many claims were won, by the fingerprint of the text."""
    return Counter(move.after.fingerprint for move in case.moves if move.after is not None and _claims_won(move))


def _tasks(case: Case) -> dict[str, Task]:
    return {move.after.task_id: move.after for move in case.moves if move.after is not None}


def _is_reborn(move: Move) -> bool:
    """A key was used again after its task had expired."""
    return (
        move.before is not None
        and move.after is not None
        and move.before.nonce != move.after.nonce
        and move.before.expired(move.at_ms)
    )


def _may_be_born(task: Task) -> bool:
    fresh = task.attempt == 0 and task.claim is None
    return fresh and (task.status is Status.PENDING or (task.status is Status.COMPLETED and task.cached))


def _may_move(before: Task, after: Task, *, move: Move) -> bool:
    same = all(getattr(before, name) == getattr(after, name) for name in _FIXED)
    drawn = _MOVES.get((before.status, after.status))
    return same and _dated(after) and drawn is not None and drawn(before, after, move)


def _dated(task: Task) -> bool:
    """The hour of a result starts when its task becomes terminal; DynamoDB reads a time to live in seconds."""
    if not 10**9 <= task.ttl < 10**10:
        return False
    if task.terminal:
        return task.finished_at_ms is not None and task.expires_at == task.finished_at_ms // 1000 + RESULT_S
    return task.expires_at is None and task.finished_at_ms is None


def _may_claim(before: Task, after: Task, move: Move) -> bool:
    """It is free, in time, and taken for as long as its function lives (an early half of that, where it was slow)."""
    lasts = (after.claim_until_ms or 0) >= move.asked_ms + CLAIM_S * 500
    free = before.status is Status.PENDING or (before.claim_until_ms or 0) <= move.at_ms
    return free and lasts and after.claim != before.claim and not before.overdue(move.asked_ms)


def _may_be_claimed_or_told(before: Task, after: Task, move: Move) -> bool:
    """Another claim, or its progress told under this one."""
    return _may_claim(before, after, move) or replace(before, progress=after.progress) == after


def _by_its_holder(before: Task, after: Task, _move: Move) -> bool:
    return before.claim == after.claim


def _may_fail(before: Task, after: Task, move: Move) -> bool:
    code = after.error.code if after.error is not None else ""
    if code == "timed_out":
        return before.overdue(move.at_ms)
    return before.status in _WORK and (code != "attempts_exhausted" or before.attempt == MAX_ATTEMPTS)


def _may_lend(before: Task, after: Task, move: Move) -> bool:
    """Nobody else has it, and it is in time."""
    free = before.reviewer in (None, after.reviewer) or (before.lease_until_ms or 0) <= move.at_ms
    return free and after.reviewer is not None and not before.overdue(move.asked_ms)


def _by_its_reviewer(before: Task, after: Task, move: Move) -> bool:
    return before.reviewer is not None and before.reviewer == after.reviewer and not before.overdue(move.asked_ms)


def _is_verdict(answer: Answered) -> bool:
    return answer.asked.startswith("judge") and answer.status == 200


def _is_scored(row: Mapping[str, Any]) -> bool:
    """Whether a scorer, and no human, has completed the task."""
    return row["status"] == Status.COMPLETED and "reviewer" not in row


def _always(_before: Task, _after: Task, _move: Move) -> bool:
    return True


_MOVES: dict[tuple[Status, Status], Callable[[Task, Task, Move], bool]] = {
    (Status.PENDING, Status.PROCESSING): _may_claim,
    (Status.PROCESSING, Status.PROCESSING): _may_be_claimed_or_told,
    (Status.PROCESSING, Status.PENDING): _always,
    (Status.PROCESSING, Status.COMPLETED): _by_its_holder,
    (Status.PROCESSING, Status.IN_REVIEW): _by_its_holder,
    (Status.IN_REVIEW, Status.IN_REVIEW): _may_lend,
    (Status.IN_REVIEW, Status.COMPLETED): _by_its_reviewer,
    **{(status, Status.FAILED): _may_fail for status in _OPEN},
    **{(status, Status.CANCELED): _always for status in _OPEN},
}


def _claims_won(move: Move) -> int:
    """1 where the move is a claim, else 0."""
    claimed = move.after is not None and move.after.status is Status.PROCESSING
    return int(claimed and (move.before is None or move.after.claim != move.before.claim))  # type: ignore[union-attr]


def _is_given_up(move: Move, *, counted: int) -> bool:
    assert move.before is not None
    assert move.after is not None
    given_back = (move.before.status, move.after.status) == (Status.PROCESSING, Status.PENDING)
    return given_back and counted == -1
