"""Whether a soak's books balance: each key one task, each task one end, nothing lost, nothing paid for twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults import soak_documents
from tests.faults.soak_clients import Sent
from tests.faults.soak_documents import Shelf

SHOWN = 5
OURS = "500 internal"
"""What the application never answers; an emulator whose process was killed has other words."""


@dataclass(frozen=True, kw_only=True)
class Books:
    """Everything that is left after a soak."""

    sent: Sequence[Sent]
    rows: Mapping[str, Mapping[str, Any]]
    """The tasks in the table, by id."""
    letters: frozenset[str]
    """The dead letters that are kept, by the id of their task."""
    asked: Counter[str]
    """Requests to the model, by the key of the text."""
    cached: Sequence[Mapping[str, Any]]
    """The results in the cache."""
    at_once: int
    """The most calls that the model has had at once."""
    semaphores: Sequence[Mapping[str, Any]]
    """The rows that the model's permits lie in."""
    left: Mapping[str, int]
    """Messages in each queue, seen or not."""
    shelf: Shelf
    """Batches of documents, and vectors."""


def violations(books: Books) -> list[str]:
    """What does not balance, in words; nothing, if all is well."""
    return [line for check in CHECKS for line in _shortened(list(check(books)))]


def each_key_has_exactly_one_task(books: Books) -> Iterator[str]:
    for sent in books.sent:
        if len(sent.ids) != 1:
            yield f"{sent.key} has {len(sent.ids)} tasks; its answers: {dict(sent.answers)}"
    told = Counter(task_id for sent in books.sent for task_id in sent.ids)
    for task_id in told:
        if told[task_id] > 1:
            yield f"task {task_id} has {told[task_id]} keys"
    for task_id in told.keys() ^ books.rows.keys():
        yield f"task {task_id} is {'not in the table' if task_id in told else 'nobodys'}"


def each_task_is_terminal_and_its_caller_knows(books: Books) -> Iterator[str]:
    for sent in books.sent:
        for task_id in sent.ids & books.rows.keys():
            status = books.rows[task_id]["status"]
            if status not in {"completed", "failed"}:
                yield f"task {task_id} is {status}"
            elif sent.task["status"] != status:
                yield f"task {task_id} is {status}, and its caller saw {sent.task['status']}"


def a_dead_letter_for_each_failure_and_no_other(books: Books) -> Iterator[str]:
    failed = {task_id for task_id, row in books.rows.items() if row["status"] == "failed"}
    for task_id in failed ^ books.letters:
        yield f"task {task_id} {'failed without a dead letter' if task_id in failed else 'has a dead letter'}"


def no_attempt_asks_the_model_twice(books: Books) -> Iterator[str]:
    for sent in books.sent:
        for task_id in sent.ids & books.rows.keys():
            attempts, asked = books.rows[task_id]["attempt"], books.asked[sent.key]
            if asked > attempts:
                yield f"task {task_id} asked the model {asked} times in {attempts} attempts"
            if asked == 0:
                yield f"task {task_id} is {books.rows[task_id]['status']}, and the model was never asked"


def only_what_completed_is_cached(books: Books) -> Iterator[str]:
    completed = [row["result"] for row in books.rows.values() if row["status"] == "completed"]
    if len(books.cached) > len(completed):
        yield f"{len(books.cached)} results are cached, and {len(completed)} tasks completed"
    for result in books.cached:
        if result["score"] != 80:
            yield f"a score of {result['score']} is cached, and the model gave none"


def the_permits_add_up_and_were_not_exceeded(books: Books) -> Iterator[str]:
    for row in books.semaphores:
        out = sum(lease["count"] for lease in row["leases"].values())
        if row["free"] + out != row["limit"]:
            yield f"{row['free']} permits are free and {out} are out, of {row['limit']}"
        if books.at_once > row["limit"]:
            yield f"the model had {books.at_once} calls at once, and {row['limit']} permits"
    if len(books.semaphores) != 1:
        yield f"the model has {len(books.semaphores)} semaphores"


def each_document_has_its_vector_or_a_reason(books: Books) -> Iterator[str]:
    yield from soak_documents.violations(books.shelf)
    for batch in books.shelf.batches:
        if odd := {name for name in batch.answers if name == OURS or name.startswith("4")}:
            yield f"{batch.key} was answered {sorted(odd)}"


def the_queues_are_empty(books: Books) -> Iterator[str]:
    for queue, count in books.left.items():
        if count:
            yield f"{count} messages are left in {queue}"


def nothing_came_out_that_should_not(books: Books) -> Iterator[str]:
    for sent in books.sent:
        odd = {name for name in sent.answers if name == OURS or name.startswith("4")}
        if odd:
            yield f"{sent.key} was answered {sorted(odd)}"


CHECKS = (
    each_key_has_exactly_one_task,
    each_task_is_terminal_and_its_caller_knows,
    a_dead_letter_for_each_failure_and_no_other,
    no_attempt_asks_the_model_twice,
    only_what_completed_is_cached,
    the_permits_add_up_and_were_not_exceeded,
    each_document_has_its_vector_or_a_reason,
    the_queues_are_empty,
    nothing_came_out_that_should_not,
)


def _shortened(lines: list[str]) -> list[str]:
    rest = len(lines) - SHOWN
    return lines if rest <= 0 else [*lines[:SHOWN], f"… and {rest} more of the kind"]
