"""What holds of tasks, their results and what callers were told of them, whatever went wrong on the way."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from isolane.model_errors import InputTooLong, ModelRefused
from isolane.submissions import REVIEW
from isolane.task import REVIEWS, Status, Task, text_name, timestamp
from tests.faults import embedding_promises
from tests.faults.broken import require
from tests.faults.case import MAX_ATTEMPTS, VERDICTS, Answered, Case
from tests.faults.history import Move
from tests.faults.image_moves import is_afterthought, is_picture
from tests.faults.right_answers import cache_key_of, fingerprint_of, parts_in, score_of
from tests.faults.task_moves import claims_won, is_given_up, is_reborn, may_be_born, may_move

WITHOUT_A_LETTER = frozenset({"timed_out", ModelRefused.code, InputTooLong.code})
"""Why a task may fail without anybody having to look at its message."""
_PARTS = ("score-part#", "score-summary#")


def terminal_once(case: Case) -> None:
    """What was terminal once never changes, but to make way for a new task after it has expired."""
    for move in case.moves:
        if move.before is not None and move.before.terminal and move.after is not None:
            require(is_reborn(move) or is_afterthought(move), f"a terminal task was changed: {move}")


def moves_are_legal(case: Case) -> None:
    """Every change of a task is one of the drawn moves, made by who may make it, in time."""
    for move in case.moves:
        if move.after is None:
            ttl = move.before.ttl if move.before is not None else None
            require(ttl is not None and ttl * 1000 < move.at_ms, f"a row was lost: {move}")
        elif move.before is None or is_reborn(move):
            require(may_be_born(move.after), f"a task was born wrongly: {move}")
        else:
            require(may_move(move.before, move.after, move=move), f"this move is not drawn: {move}")


def attempts_are_claims(case: Case) -> None:
    """An attempt is counted when a claim is won, taken off when one is given up untried, and never else."""
    for move in _scorings(case):
        if move.before is None or move.after is None or is_reborn(move):
            continue
        counted = move.after.attempt - move.before.attempt
        require(counted == claims_won(move) or is_given_up(move, counted=counted), f"attempts counted wrong: {move}")
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
        if answer.asked.startswith(("submit", "order")) and answer.status in (200, 202):
            require(answer.body["taskId"] in tasks, "a submit was answered, and its task does not exist")


def results_are_right(case: Case) -> None:
    """A completed task has the score of its own text, or its reviewer's; no other has one, but in review for now."""
    scores = {fingerprint_of(text): score_of(text) for text in case.texts}
    for move in _scorings(case):
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
    """The cache holds only results that completed a task, each under the key of its own text.

    One that a human has to judge first is marked so, and waits with a task in review.
    """
    texts = {cache_key_of(text): text for text in case.texts}
    done: set[str] = set()
    reviewed: set[str] = set()
    for change in case.changes:
        if change.table == "TasksTable" and change.after is not None and _is_scored(change.after):
            done.add(change.after["fingerprint"])
        if change.table == "TasksTable" and change.after is not None and change.after["status"] == Status.IN_REVIEW:
            reviewed.add(change.after["fingerprint"])
        if change.table == "ValuesTable" and change.after is not None and "flight" not in change.after:
            if change.key.startswith((*_PARTS, "command#", *embedding_promises.OF_EMBEDDINGS)):
                continue
            text = texts.get(change.key)
            require(text is not None, "something is cached under a key of nobody's")
            assert text is not None
            value = json.loads(change.after["value"])
            require(value["result"]["score"] == score_of(text), "the score of another text is cached")
            known = reviewed if REVIEW in value else done
            require(fingerprint_of(text) in known or case.cached_before, "what ended no task so is cached")


def a_dead_letter_is_kept_and_its_task_failed(case: Case) -> None:
    """A task that was given up has its letter in State; a letter that is kept has a task that failed."""
    tasks = _tasks(case)
    others = embedding_promises.documents_letters(case)
    rows = [row for row in case.rows("StateTable").values() if row["pk"] == "dead-letters" and row not in others]
    letters = {row["sk"]: row for row in rows}
    for task in tasks.values():
        given_up = task.error is not None and task.error.code not in WITHOUT_A_LETTER and not is_picture(task)
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
        if answer.asked.startswith("submit") and answer.text is not None and answer.status in (200, 202):
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


def nothing_was_wasted(case: Case) -> None:
    """Every attempt asked the model, and all it said was used: so it is where nobody dies and the SDK asks again."""
    for text in case.texts:
        asked, won = case.asked.count(text), _attempts(case)[fingerprint_of(text)]
        require(asked == won, f"{won} attempts were counted, and the model was asked {asked} times")


def _scorings(case: Case) -> list[Move]:
    """All that happened to tasks that are about texts."""
    return [move for move in case.moves if move.after is None or not is_picture(move.after)]


def _attempts(case: Case) -> Counter[str]:
    """How many claims were won, by the fingerprint of the text."""
    return Counter(move.after.fingerprint for move in case.moves if move.after is not None and claims_won(move))


def _tasks(case: Case) -> dict[str, Task]:
    return {move.after.task_id: move.after for move in case.moves if move.after is not None}


def _is_verdict(answer: Answered) -> bool:
    return answer.asked.startswith("judge") and answer.status == 200


def _is_scored(row: Mapping[str, Any]) -> bool:
    """Whether a scorer, and no human, has completed the task."""
    return row["status"] == Status.COMPLETED and "reviewer" not in row


PROMISES: tuple[Callable[[Case], None], ...] = (
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
)
