"""A soak's books that balance say nothing; each thing that can be wrong with them is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.soak_accounts import CHECKS, Books, violations
from tests.faults.soak_clients import Sent
from tests.faults.soak_documents import A_BATCH, Batch, Shelf

RESULT = {"score": 80}
DONE = {"progress": 100, "completed": A_BATCH, "failed": 0, "errors": []}
ONE_FAILED = {**DONE, "completed": A_BATCH - 1, "failed": 1, "errors": [{"id": "batch-0", "code": "timed_out"}]}
BATCH = Batch(key="batch", answers=Counter({"202": 1}), ids={"b"}, progress=DONE)


def sent(key: str, task_id: str, status: str) -> Sent:
    return Sent(key=key, text=key, answers=Counter({"202": 1}), ids={task_id}, task={"status": status})


def balanced() -> Books:
    return Books(
        sent=[sent("a", "1", "completed"), sent("b", "2", "failed")],
        rows={
            "1": {"status": "completed", "attempt": 2, "result": "{}"},
            "2": {"status": "failed", "attempt": 4},
        },
        letters=frozenset({"2"}),
        asked=Counter({"a": 2, "b": 4}),
        cached=[RESULT],
        at_once=5,
        semaphores=[{"limit": 5, "free": 4, "leases": {"h": {"count": 1}}}],
        left={"the queue": 0, "the dead-letter queue": 0},
        shelf=Shelf(batches=[BATCH], there=frozenset(each["id"] for each in BATCH.documents)),
    )


def with_row(books: Books, task_id: str, **changes: Any) -> Books:
    return replace(books, rows={**books.rows, task_id: {**books.rows.get(task_id, {}), **changes}})


def without_row(books: Books, task_id: str) -> Books:
    return replace(books, rows={key: row for key, row in books.rows.items() if key != task_id})


def with_sent(books: Books, changed: Sent) -> Books:
    return replace(books, sent=[changed, *books.sent[1:]])


def with_batch(books: Books, **changes: Any) -> Books:
    return replace(books, shelf=replace(books.shelf, batches=[replace(BATCH, **changes)]))


def with_vectors(books: Books, there: frozenset[str]) -> Books:
    return replace(books, shelf=replace(books.shelf, there=there))


WRONG: dict[str, Callable[[Books], Books]] = {
    "a has 0 tasks": lambda books: with_sent(books, replace(books.sent[0], ids=set())),
    "a has 2 tasks": lambda books: with_sent(books, replace(books.sent[0], ids={"1", "9"})),
    "task 2 has 2 keys": lambda books: with_sent(books, replace(books.sent[0], ids={"2"})),
    "task 1 is not in the table": lambda books: without_row(books, "1"),
    "task 3 is nobodys": lambda books: with_row(books, "3", status="completed", attempt=1, result="{}"),
    "task 1 is processing": lambda books: with_row(books, "1", status="processing"),
    "its caller saw pending": lambda books: with_sent(books, sent("a", "1", "pending")),
    "failed without a dead letter": lambda books: replace(books, letters=frozenset()),
    "task 1 has a dead letter": lambda books: replace(books, letters=frozenset({"1", "2"})),
    "asked the model 3 times in 2 attempts": lambda books: replace(books, asked=Counter({"a": 3, "b": 4})),
    "the model was never asked": lambda books: replace(books, asked=Counter({"b": 4})),
    "2 results are cached": lambda books: replace(books, cached=[RESULT, RESULT]),
    "a score of 50 is cached": lambda books: replace(books, cached=[{"score": 50}]),
    "4 permits are free and 0 are out": lambda books: replace(
        books, semaphores=[{"limit": 5, "free": 4, "leases": {}}]
    ),
    "the model had 6 calls at once": lambda books: replace(books, at_once=6),
    "the model has 0 semaphores": lambda books: replace(books, semaphores=[]),
    "7 messages are left in the queue": lambda books: replace(books, left={"the queue": 7}),
    "a was answered ['500 internal']": lambda books: with_sent(
        books, replace(books.sent[0], answers=Counter({"500 internal": 1}))
    ),
    "batch has 0 batches": lambda books: with_batch(books, ids=set()),
    "batch has 1 batches, at {'progress': 50}": lambda books: with_batch(books, progress={"progress": 50}),
    "batch is at 39 and 0 of 40": lambda books: with_batch(books, progress={**DONE, "completed": 39}),
    "batch has documents that failed of ['timed_out']": lambda books: with_batch(books, progress=ONE_FAILED),
    "batch has lost the vectors of 40 documents": lambda books: with_vectors(books, frozenset()),
    "1 vectors are nobody's": lambda books: with_vectors(books, books.shelf.there | {"stray"}),
    "batch was answered ['422 idempotency_mismatch']": lambda books: with_batch(
        books, answers=Counter({"422 idempotency_mismatch": 1})
    ),
    "a was answered ['404 task_not_found']": lambda books: with_sent(
        books, replace(books.sent[0], answers=Counter({"404 task_not_found": 1}))
    ),
}


def test_books_that_balance_say_nothing() -> None:
    assert violations(balanced()) == []


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_is_said(said: str) -> None:
    assert any(said in line for line in violations(WRONG[said](balanced())))


def test_each_check_has_something_that_it_finds() -> None:
    for check in CHECKS:
        assert any(list(check(wrong(balanced()))) for wrong in WRONG.values()), check.__name__


def test_many_of_a_kind_are_counted_and_not_listed() -> None:
    lost = replace(
        balanced(), sent=[Sent(key=str(number), text="") for number in range(20)], rows={}, letters=frozenset()
    )
    assert "… and 15 more of the kind" in violations(lost)
