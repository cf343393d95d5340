"""Documents from the request to their vectors: nothing twice, nothing missing, one bad one alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from embeddings.embedders import TextRejected
from embeddings.gate import Gate
from isolane.blocks import BLOCK, from_row
from isolane.deadline import Deadline
from isolane.documents import LATEST_S, Document
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRejected, ReplyUnreadable
from tests.application import Application
from tests.doubles.scripted_embedder import ScriptedEmbedder
from tests.waiting import wait_until
from tests.world import World, receive

Fault = Callable[[str], ModelError | None]


def documents(count: int, *, about: str = "rivers") -> list[dict[str, str]]:
    return [{"id": f"{about}-{number}", "text": f"Text {number} about {about}."} for number in range(count)]


def application(world: World, *, embedder: ScriptedEmbedder | None = None, **changes: str) -> Application:
    if embedder is None:
        return Application(world, changes=changes)
    app = Application(world, embedder=embedder, changes=changes)
    gate = Gate(embedder, breaker=app.bindings.breaker, permits=app.bindings.permits, limit=1)
    return Application(world, embedder=gate, changes=changes)


def submit(app: Application, posted: list[dict[str, str]], **headers: str) -> str:
    answer = app.call("POST", "/api/embed/batch", body={"documents": posted}, headers=headers)
    assert answer["statusCode"] == 202
    return str(answer["json"]["batchId"])


def progress(app: Application, batch_id: str) -> dict[str, Any]:
    answer = app.call("GET", f"/api/embed/batches/{batch_id}")
    assert answer["statusCode"] == 200
    return dict(answer["json"])


def received(app: Application, count: int) -> list[dict[str, Any]]:
    """So many messages, however many receives they take."""
    records: list[dict[str, Any]] = []

    def all_there() -> bool:
        records.extend(receive(app.embed_queue))
        return len(records) >= count

    wait_until(all_there, description=f"{count} messages are received")
    return records


def work(app: Application, records: list[dict[str, Any]]) -> list[str]:
    """Embeds a batch; Lambda's part, the deleting, is done. The ids of those that come again."""
    again = [each["itemIdentifier"] for each in app.embed(records)["batchItemFailures"]]
    for record in records:
        if record["messageId"] not in again:
            app.embed_queue.client.delete_message(QueueUrl=app.embed_queue.url, ReceiptHandle=record["receiptHandle"])
    return again


def found(app: Application, text: str, *, limit: int = 3) -> list[str]:
    answer = app.call("POST", "/api/embed/search", body={"text": text, "limit": limit})
    assert answer["statusCode"] == 200
    return [match["id"] for match in answer["json"]["matches"]]


def stored(app: Application, owner: str = "local") -> list[str]:
    """The ids of all vectors that lie there, those that are superfluous included."""
    rows = app.world.state.query(
        "#pk = :pk AND begins_with(#sk, :block)", values={"pk": f"vectors#{owner}", "block": BLOCK}, limit=100
    ).items
    return sorted(entry.document_id for row in rows for entry in from_row(row).entries)


def record_of(document: Document, *, name: str) -> dict[str, Any]:
    """A delivery that no queue made: what is put off in it stays where it is."""
    return {"messageId": name, "receiptHandle": name, "body": document.as_body(), "attributes": {}}


def failing(fault: ModelError, *, where: str) -> Fault:
    return lambda text: fault if where in text else None


def test_documents_are_embedded_and_found_again(whole_world: World) -> None:
    app = application(whole_world)
    batch_id = submit(app, documents(12))
    assert progress(app, batch_id) == {"total": 12, "completed": 0, "failed": 0, "progress": 0, "errors": []}
    records = received(app, 12)
    assert work(app, records[:10]) == []
    assert progress(app, batch_id)["progress"] == 83
    assert work(app, records[10:]) == []
    assert progress(app, batch_id) == {"total": 12, "completed": 12, "failed": 0, "progress": 100, "errors": []}
    assert stored(app) == sorted(each["id"] for each in documents(12))
    assert found(app, "Text 7 about rivers.")[0] == "rivers-7"


def test_a_document_is_as_near_to_itself_as_can_be(whole_world: World) -> None:
    app = application(whole_world)
    submit(app, documents(3))
    work(app, received(app, 3))
    answer = app.call("POST", "/api/embed/search", body={"text": "Text 1 about rivers."})
    assert answer["json"]["matches"][0] == {"id": "rivers-1", "similarity": 1.0}


def test_a_batch_that_is_delivered_twice_is_counted_once(whole_world: World) -> None:
    app = application(whole_world)
    batch_id = submit(app, documents(5))
    records = received(app, 5)
    app.embed(records)
    app.embed(records)
    app.embed([*records[3:], *records[:2]])
    assert progress(app, batch_id)["completed"] == 5
    assert found(app, "Text 4 about rivers.", limit=100).count("rivers-4") == 1
    assert len(found(app, "Text 4 about rivers.", limit=100)) == 5


def test_a_document_of_two_batches_is_there_once_in_its_newest_version(whole_world: World) -> None:
    app = application(whole_world)
    submit(app, [{"id": "one", "text": "Old words about foxes."}])
    old = received(app, 1)
    app.world.clock.advance(1)
    submit(app, [{"id": "one", "text": "New words about harbours."}])
    app.embed(received(app, 1))
    app.embed(old)  # it was late
    answer = app.call("POST", "/api/embed/search", body={"text": "New words about harbours."})
    assert answer["json"]["matches"] == [{"id": "one", "similarity": 1.0}]


def test_owners_do_not_find_each_others_documents(whole_world: World) -> None:
    app = application(whole_world)
    submit(app, documents(2))
    token = app.bindings.callers.issue("ann", roles=["user"])
    ann = {"Authorization": f"Bearer {token}"}
    batch = app.call("POST", "/api/embed/batch", body={"documents": documents(2, about="ann")}, headers=ann)["json"]
    work(app, received(app, 4))
    assert found(app, "about ann", limit=10) == ["rivers-0", "rivers-1"]
    mine = app.call("POST", "/api/embed/search", body={"text": "about rivers"}, headers=ann)["json"]["matches"]
    assert sorted(match["id"] for match in mine) == ["ann-0", "ann-1"]
    assert app.call("GET", f"/api/embed/batches/{batch['batchId']}")["statusCode"] == 404


def test_whoever_has_no_documents_finds_none_and_asks_nobody(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    assert found(application(whole_world, embedder=embedder), "anything") == []
    assert embedder.asked == []


# The model and what stands before it


def test_ten_documents_are_one_request(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    app = application(whole_world, embedder=embedder)
    submit(app, documents(10))
    work(app, received(app, 10))
    assert [len(texts) for texts in embedder.asked] == [10]


def test_what_is_known_is_not_asked_for_again(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    app = application(whole_world, embedder=embedder)
    submit(app, documents(3))
    work(app, received(app, 3))
    batch_id = submit(app, [*documents(3), *documents(1, about="cats"), {"id": "twin", "text": "Text 0 about cats."}])
    work(app, received(app, 5))
    assert embedder.asked[1:] == [["Text 0 about cats."]], "and what is asked for twice is asked for once"
    assert progress(app, batch_id)["completed"] == 5


def test_without_a_cache_everything_is_asked_for(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    app = application(whole_world, embedder=embedder, CACHE_SECONDS="0")
    for _ in range(2):
        submit(app, documents(3))
        work(app, received(app, 3))
    assert [len(texts) for texts in embedder.asked] == [3, 3]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (InputTooLong(requests=1), "model_input_too_long"),
        (TextRejected(requests=1), "model_rejected"),
    ],
)
def test_one_bad_document_fails_alone(whole_world: World, fault: ModelError, code: str) -> None:
    app = application(whole_world, embedder=ScriptedEmbedder(answer=failing(fault, where="Text 4")))
    batch_id = submit(app, documents(10))
    assert work(app, received(app, 10)) == []
    now = progress(app, batch_id)
    assert (now["completed"], now["failed"], now["progress"]) == (9, 1, 100)
    assert [(each["id"], each["code"]) for each in now["errors"]] == [("rivers-4", code)]
    assert "rivers-4" not in found(app, "A text about rivers.", limit=100)


def test_a_document_whose_vector_is_bad_is_tried_again_alone_and_its_attempt_travels_with_it(
    whole_world: World,
) -> None:
    embedder = ScriptedEmbedder(answer=failing(ReplyUnreadable(requests=1), where="Text 4"))
    app = application(whole_world, embedder=embedder, MAX_RETRIES="1")
    batch_id = submit(app, documents(10))
    assert work(app, received(app, 10)) == []
    assert progress(app, batch_id)["completed"] == 9
    (again,) = received(app, 1)
    body = app.bindings.batches.find(batch_id, owner="local")
    assert body is not None
    assert '"attempt":2' in again["body"]
    assert work(app, [again]) == []
    (letter,) = receive(app.embed_dead)
    assert letter["messageAttributes"]["reason"]["stringValue"] == "attempts_exhausted"
    arn = f"arn:aws:sqs:us-east-1:000000000000:{app.embed_dead.url.rsplit('/', 1)[-1]}"
    app.bury([{**letter, "eventSourceARN": arn}])
    now = progress(app, batch_id)
    assert (now["failed"], now["progress"]) == (1, 100)
    assert now["errors"][0]["code"] == "attempts_exhausted"
    assert [row["reason"] for row in app.letters()] == ["attempts_exhausted"]


def test_a_key_that_is_not_accepted_puts_documents_aside_and_asks_once(whole_world: World) -> None:
    embedder = ScriptedEmbedder(answer=lambda _: ModelRejected(requests=1))
    app = application(whole_world, embedder=embedder)
    submit(app, documents(3))
    assert work(app, received(app, 3)) == []
    assert len(receive(app.embed_dead)) == 3
    assert len(embedder.asked) == 1


def test_a_permit_that_is_not_free_puts_documents_off_with_all_their_attempts(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    app = application(whole_world, embedder=embedder)
    submit(app, documents(2))
    records = received(app, 2)
    other = app.bindings.permits.acquire(embedder.name, holder="other", lease_s=60, limit=1)
    assert other is not None
    assert len(work(app, records)) == 2
    assert embedder.asked == []
    app.bindings.permits.release(other)
    assert work(app, records) == []
    assert '"attempt":1' in records[0]["body"]


def test_a_model_that_is_busy_opens_its_breaker_and_then_nobody_asks(whole_world: World) -> None:
    embedder = ScriptedEmbedder(answer=lambda _: ModelBusy(retry_after_s=100, requests=1))
    app = application(whole_world, embedder=embedder)
    submit(app, documents(2))
    first, second = received(app, 2)
    assert work(app, [first]) == [], "its next attempt is a new message"
    assert work(app, [second]) == [second["messageId"]]
    assert len(embedder.asked) == 1


def test_what_is_cached_needs_no_permit(whole_world: World) -> None:
    embedder = ScriptedEmbedder()
    app = application(whole_world, embedder=embedder)
    submit(app, documents(2))
    work(app, received(app, 2))
    assert app.bindings.permits.acquire(embedder.name, holder="other", lease_s=60, limit=1) is not None
    batch_id = submit(app, [*documents(2), *documents(1, about="cats")])
    assert len(work(app, received(app, 3))) == 1
    assert progress(app, batch_id)["completed"] == 2


def test_a_search_that_may_not_ask_the_model_says_when_to_come_again(whole_world: World) -> None:
    embedder = ScriptedEmbedder(answer=failing(ModelBusy(retry_after_s=7, requests=1), where="busy"))
    app = application(whole_world, embedder=embedder)
    submit(app, documents(1))
    work(app, received(app, 1))
    answer = app.call("POST", "/api/embed/search", body={"text": "busy"})
    assert (answer["statusCode"], answer["json"]["error"]) == (503, "overloaded")
    assert answer["headers"]["Retry-After"] == "7"


# Messages that are odd


def test_a_document_that_comes_after_a_day_fails(whole_world: World) -> None:
    app = application(whole_world)
    batch_id = submit(app, documents(2))
    app.world.clock.advance(LATEST_S)
    assert work(app, received(app, 2)) == []
    now = progress(app, batch_id)
    assert (now["failed"], {each["code"] for each in now["errors"]}) == (2, {"timed_out"})


def test_a_message_that_is_nobodys_is_put_aside_and_its_neighbours_are_embedded(whole_world: World) -> None:
    app = application(whole_world)
    batch_id = submit(app, documents(2))
    odd = [{"messageId": name, "receiptHandle": name, "body": body, "attributes": {}} for name, body in ODD.items()]
    answer = app.embed([*odd, *received(app, 2)])
    assert answer == {"batchItemFailures": []}
    assert progress(app, batch_id)["completed"] == 2
    assert sorted(letter["body"] for letter in receive(app.embed_dead)) == sorted(ODD.values())


ODD = {
    "not-json": "{bad",
    "no-batch": '{"text":"x"}',
    "a-float": '{"batch_id":"b","owner":"o","id":"i","text":"t","index":1.5}',
}


def test_done_beats_failed_whichever_comes_first(whole_world: World) -> None:
    app = application(whole_world)
    batch_id = submit(app, documents(1))
    (record,) = received(app, 1)
    arn = f"arn:aws:sqs:us-east-1:000000000000:{app.embed_dead.url.rsplit('/', 1)[-1]}"
    app.bury([{**record, "eventSourceARN": arn}])
    assert progress(app, batch_id)["failed"] == 1
    app.embed([record])
    assert progress(app, batch_id) == {"total": 1, "completed": 1, "failed": 0, "progress": 100, "errors": []}
    letters = len(app.letters())
    app.bury([{**record, "messageId": "again", "eventSourceARN": arn}])
    assert len(app.letters()) == letters, "nothing has died that has its vector"


def test_a_batch_that_is_forgotten_is_not_brought_back_by_a_late_mark(whole_world: World) -> None:
    app = application(whole_world)
    batch = app.bindings.batches
    assert batch.mark("nobodys", done=frozenset({1})) is None
    assert batch.find("nobodys", owner="local") is None


# Handing in


def test_the_same_request_under_one_key_is_one_batch(whole_world: World) -> None:
    app = application(whole_world)
    first = submit(app, documents(3), **{"Idempotency-Key": "k"})
    again = app.call("POST", "/api/embed/batch", body={"documents": documents(3)}, headers={"Idempotency-Key": "k"})
    assert (again["json"]["batchId"], again["json"]["queued"]) == (first, 3)
    assert again["headers"]["Idempotent-Replayed"] == "true"
    assert len(received(app, 3)) == 3
    assert receive(app.embed_queue) == []
    other = app.call("POST", "/api/embed/batch", body={"documents": documents(2)}, headers={"Idempotency-Key": "k"})
    assert (other["statusCode"], other["json"]["error"]) == (422, "idempotency_mismatch")


def test_what_the_queue_does_not_take_is_sent_again_and_then_told(
    whole_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(whole_world)
    client: Any = app.embed_queue.client
    send, tried = client.send_message_batch, list[int]()

    def refuse(**request: Any) -> Any:
        """Document 3 at first, and document 7 for ever, as SQS answers where it is busy."""
        tried.extend(int(entry["Id"]) for entry in request["Entries"])
        refused = {"7"} | ({"3"} if tried.count(3) == 1 else set())
        entries = [entry for entry in request["Entries"] if entry["Id"] not in refused]
        answer = send(**{**request, "Entries": entries}) if entries else {"Successful": []}
        return {**answer, "Failed": [{"Id": each, "SenderFault": False, "Code": "InternalError"} for each in refused]}

    monkeypatch.setattr(client, "send_message_batch", refuse)
    answer = app.call("POST", "/api/embed/batch", body={"documents": documents(12)})
    assert (answer["json"]["queued"], answer["json"]["message"]) == (11, "11 tasks queued")
    assert (tried.count(3), tried.count(7), tried.count(0)) == (2, 3, 1)
    work(app, received(app, 11))
    now = progress(app, answer["json"]["batchId"])
    assert (now["total"], now["completed"], now["failed"]) == (12, 11, 1)
    assert [(each["id"], each["code"]) for each in now["errors"]] == [("rivers-7", "not_queued")]


@pytest.mark.parametrize(
    ("posted", "code"),
    [
        ({}, "invalid_documents"),
        ({"documents": []}, "invalid_documents"),
        ({"documents": "x"}, "invalid_documents"),
        ({"documents": [1]}, "invalid_documents"),
        ({"documents": [{"id": "", "text": "t"}]}, "invalid_documents"),
        ({"documents": [{"id": "i" * 129, "text": "t"}]}, "invalid_documents"),
        ({"documents": [{"id": 1, "text": "t"}]}, "invalid_documents"),
        ({"documents": [{"id": "a", "text": "t"}, {"id": "a", "text": "u"}]}, "invalid_documents"),
        ({"documents": [{"id": str(number), "text": "t"} for number in range(1001)]}, "invalid_documents"),
        ({"documents": [{"id": "a"}]}, "invalid_documents"),
        ({"documents": [{"id": "a", "text": " \n"}]}, "text_required"),
        ({"documents": [{"id": "a", "text": 7}]}, "invalid_request"),
    ],
)
def test_what_is_no_batch_is_refused_with_its_reason(whole_world: World, posted: Any, code: str) -> None:
    answer = application(whole_world).call("POST", "/api/embed/batch", body=posted)
    assert (answer["statusCode"], answer["json"]["error"]) == (400, code)


def test_a_text_that_is_too_long_is_refused(whole_world: World) -> None:
    app = application(whole_world)
    longest = {"id": "a", "text": "\U0001f600" * 50_000}
    assert app.call("POST", "/api/embed/batch", body={"documents": [longest]})["statusCode"] == 202
    answer = app.call("POST", "/api/embed/search", body={"text": "x" * 50_001})
    assert (answer["statusCode"], answer["json"]["error"]) == (413, "text_too_long")


@pytest.mark.parametrize(
    ("posted", "code"),
    [({}, "text_required"), ({"text": ""}, "text_required"), ({"text": "t", "limit": 0}, "invalid_request")],
)
def test_what_is_no_search_is_refused_with_its_reason(whole_world: World, posted: Any, code: str) -> None:
    answer = application(whole_world).call("POST", "/api/embed/search", body=posted)
    assert (answer["statusCode"], answer["json"]["error"]) == (400, code)


def test_the_estimate_comes_from_the_measured_rate(whole_world: World) -> None:
    app = application(whole_world, EMBED_CONCURRENCY="2", EMBED_BATCH_SIZE="10", MODEL_TIMEOUT_SECONDS="9")
    first = app.call("POST", "/api/embed/batch", body={"documents": documents(50)})["json"]
    assert first["estimatedTime"] == 27, "5 calls by 2 at once, each as long as it may take"
    app.bindings.embed_backlog.worked(4.0)
    app = application(whole_world, EMBED_CONCURRENCY="2", EMBED_BATCH_SIZE="10")
    second = app.call("POST", "/api/embed/batch", body={"documents": documents(50)})["json"]
    assert second["estimatedTime"] == 20, "50 documents behind 50 others, 20 at once in 4 s"


def test_bodies_are_cut_by_ten_and_by_bytes(whole_world: World) -> None:
    queue = whole_world.make_queue("many")
    bodies = [*("x" * 100_000 for _ in range(5)), *(str(number) for number in range(21))]
    assert queue.send_many(bodies, deadline=Deadline.after(20)) == []
    seen: list[str] = []

    def all_there() -> bool:
        seen.extend(record["body"] for record in receive(queue))
        return len(seen) == len(bodies)

    wait_until(all_there, description="every message is there")
    assert sorted(seen) == sorted(bodies)
