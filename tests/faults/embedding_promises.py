"""What holds of batches of documents and their vectors, whatever went wrong on the way."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from isolane.blocks import BLOCK, Block, from_row
from isolane.documents import Version
from tests.faults.broken import require
from tests.faults.case import OWNER, Case
from tests.faults.history import Change
from tests.faults.right_answers import vector_of

BATCH = "embed-batch#"
OF_EMBEDDINGS = (BATCH, "embedding#", "pace#")
"""How the keys of rows of Values begin that are theirs."""


def a_batch_comes_to_an_end(case: Case) -> None:
    """At rest, each document of a batch whose owner was told of it has its vector or a reason; none has both."""
    for answer in case.answers:
        if answer.asked.startswith("embed") and answer.status == 202:
            row = case.rows("ValuesTable").get(f"{BATCH}{answer.body['batchId']}")
            require(row is not None, "a batch was told of, and does not exist")
            assert row is not None
            done, failed = row.get("done", set()), {int(index) for index in row["problems"]}
            require(done | failed == set(range(row["total"])), "documents of a batch are forgotten")
            require(row["queued"] == answer.body["queued"], "another number was told than is recorded")


def progress_only_grows(case: Case) -> None:
    """What is done stays done, what was said of a failure stays said, and nothing else of a batch changes."""
    for change in case.changes:
        if change.table == "ValuesTable" and change.key.startswith(BATCH) and change.before is not None:
            before, after = change.before, change.after
            require(after is not None, "a batch was lost")
            assert after is not None
            require(before.get("done", set()) <= after.get("done", set()), "what was done is not done any more")
            require(before["problems"].keys() <= after["problems"].keys(), "a failure was forgotten")
            fixed = ("total", "batch_owner", "fingerprint", "created_at_ms")
            require(all(before[name] == after[name] for name in fixed), "a batch became another")
            require(all(index < after["total"] for index in after.get("done", set())), "more is done than there is")


def what_is_done_has_its_vector(case: Case) -> None:
    """A document is marked after its vector is there, and from then on it is there at every time, or a newer one."""
    blocks: dict[str, Block] = {}
    owed: dict[str, Version] = {}
    for change in case.changes:
        if change.table == "StateTable" and f"/{BLOCK}" in change.key:
            _follow(blocks, change)
        if change.table == "ValuesTable" and change.key.startswith(BATCH) and change.after is not None:
            for name, version in _done(case, change.after, batch_id=change.key.removeprefix(BATCH)):
                owed[name] = max(version, owed.get(name, (0, "")))
        there = _newest(blocks.values())
        for name, version in owed.items():
            require(there.get(name, (0, "")) >= version, f"the vector of {name} is not there")


def vectors_are_right(case: Case) -> None:
    """Each vector is that of its document's own text, in its version."""
    texts = {(batch_id, name): text for batch_id, name, text in case.handed_in()}
    for row in (row for key, row in case.rows("StateTable").items() if f"/{BLOCK}" in key):
        for entry in from_row(row).entries:
            text = texts.get((entry.version[1], entry.document_id))
            require(text is None or entry.vector == vector_of(text), "a document has another text's vector")


def merges_are_counted(case: Case) -> None:
    """A block goes only by a merge that was counted since it was written: who reads page by page learns of it."""
    generation, written_at = 0, dict[str, int]()
    for change in case.changes:
        if change.key == f"vectors#{OWNER}/generation" and change.after is not None:
            require(change.after["generation"] == generation + 1, "merges were not counted one by one")
            generation += 1
        elif f"/{BLOCK}" in change.key and change.after is not None:
            written_at[change.key] = generation
        elif f"/{BLOCK}" in change.key:
            require(written_at[change.key] < generation, "a block went in a merge that was decided before it was there")


def letters_of_documents_have_no_vector(case: Case) -> None:
    """A dead letter is kept for what has failed, and for nothing that is done."""
    for letter in documents_letters(case):
        require(letter["owner"] == OWNER and bool(letter["reason"]), "a letter of nobody's, or without a reason")


def documents_letters(case: Case) -> list[Mapping[str, Any]]:
    rows = case.rows("StateTable").values()
    return [row for row in rows if row["pk"] == "dead-letters" and '"batch_id"' in row["body"]]


def _follow(blocks: dict[str, Block], change: Change) -> None:
    if change.after is None:
        blocks.pop(change.key, None)
    else:
        blocks[change.key] = from_row(change.after)


def _newest(blocks: Iterable[Block]) -> dict[str, Version]:
    """The newest version of each document that is there."""
    found: dict[str, Version] = {}
    for entry in (entry for block in blocks for entry in block.entries):
        found[entry.document_id] = max(entry.version, found.get(entry.document_id, entry.version))
    return found


def _done(case: Case, row: Mapping[str, Any], *, batch_id: str) -> Iterator[tuple[str, Version]]:
    for index in row.get("done", set()):
        yield case.document_ids[int(index)], (int(row["created_at_ms"]), batch_id)


PROMISES: tuple[Callable[[Case], None], ...] = (
    a_batch_comes_to_an_end,
    progress_only_grows,
    what_is_done_has_its_vector,
    vectors_are_right,
    merges_are_counted,
    letters_of_documents_have_no_vector,
)
