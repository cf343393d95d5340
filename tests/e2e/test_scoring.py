"""The contract of scoring over HTTP, to the letter, on the deployed stack."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.client import Answer, Client

ESSAY = "Rivers shape the land, because water carries soil. However, people shape rivers, too.\n\nDams hold them back."
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def fresh(text: str = ESSAY) -> str:
    """A text that nobody has had scored before."""
    return f"{text} {uuid.uuid4().hex}"


def test_health_needs_no_token_and_is_not_stored(api: Client) -> None:
    answer = api.call("GET", "/health")
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-request-id"]


def test_a_text_is_submitted_and_scored(api: Client) -> None:
    submitted = api.submit(fresh())
    assert submitted.status == 202
    task = submitted.json
    assert submitted.headers["location"] == f"result?taskId={task['taskId']}"
    assert submitted.headers["retry-after"] == "2"
    assert (task["kind"], task["status"], task["terminal"], task["attempt"]) == ("score", "pending", False, 0)
    assert TIMESTAMP.fullmatch(task["createdAt"])

    done = api.wait(task["taskId"])
    assert (done["status"], done["terminal"], done["attempt"], done["model"]) == (
        "completed",
        True,
        1,
        "builtin-rubric",
    )
    result = done["result"]
    assert set(result) == {"score", "dimensions", "comments", "model", "truncated"}
    assert done["score"] == result["score"]
    assert type(result["score"]) is int
    assert 0 <= result["score"] <= 100
    assert all(type(value) is int and 0 <= value <= 100 for value in result["dimensions"].values())
    assert result["comments"]
    assert all(isinstance(comment, str) for comment in result["comments"])
    assert result["truncated"] is False
    assert TIMESTAMP.fullmatch(done["startedAt"])
    assert TIMESTAMP.fullmatch(done["finishedAt"])


def test_the_same_text_again_is_answered_at_once(api: Client) -> None:
    text = fresh()
    first = api.wait(api.submit(text).json["taskId"])
    again = api.submit(text)
    assert again.status == 200
    assert "retry-after" not in again.headers
    assert (again.json["cached"], again.json["result"]) == (True, first["result"])
    assert again.json["taskId"] != first["taskId"]
    assert api.result(again.json["taskId"]).json == again.json


def test_a_long_poll_answers_when_the_task_ends(api: Client) -> None:
    task_id = api.submit(fresh()).json["taskId"]
    answer = api.result(task_id, prefer="wait=20")
    assert answer.json["status"] == "completed"
    assert answer.headers["preference-applied"] == "wait=20"
    assert "retry-after" not in answer.headers


def test_a_task_is_the_same_by_either_path(api: Client) -> None:
    task_id = api.submit(fresh()).json["taskId"]
    api.wait(task_id)
    assert api.call("GET", f"/tasks/{task_id}").json == api.result(task_id).json


def test_one_key_is_one_task(api: Client) -> None:
    key, text = uuid.uuid4().hex, fresh()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: api.submit(text, key=key), range(8)))
    assert {answer.status for answer in answers} <= {200, 202}
    assert len({answer.json["taskId"] for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    replay = api.submit(text, key=key)
    assert replay.headers["idempotent-replayed"] == "true"
    mismatch = api.submit(fresh(), key=key)
    assert (mismatch.status, mismatch.code) == (422, "idempotency_mismatch")
    assert api.submit(text, key="k" * 256).status == 400


def _canceled(api: Client) -> tuple[str, Answer]:
    """A task that was canceled before the worker had finished it; the worker is fast, but not twenty times."""
    for _ in range(20):
        task_id = api.submit(fresh()).json["taskId"]
        canceled = api.cancel(task_id)
        if canceled.status != 409:
            break
        assert canceled.code == "task_finished"
    return task_id, canceled


def test_canceled_is_canceled(api: Client) -> None:
    task_id, canceled = _canceled(api)
    assert (canceled.status, canceled.json["status"], canceled.json["terminal"]) == (202, "canceled", True)
    again = api.cancel(task_id)
    assert (again.status, again.code) == (409, "task_finished")
    assert api.result(task_id).json["status"] == "canceled"


def test_the_list_resumes_where_it_was_left(stranger: Callable[..., Client]) -> None:
    ann = stranger()
    ids = [ann.submit(fresh()).json["taskId"] for _ in range(5)]
    seen, cursor = [], None
    for _ in range(10):
        page = ann.tasks(limit=2, **({"cursor": cursor} if cursor else {})).json
        seen += [task["taskId"] for task in page["tasks"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]
    for task_id in ids:
        ann.wait(task_id)
    assert {task["taskId"] for task in ann.tasks(status="completed", kind="score").json["tasks"]} == set(ids)
    assert ann.tasks(kind="image").json["tasks"] == []


def test_tenants_are_kept_apart(stranger: Callable[..., Client]) -> None:
    ann, bob = stranger(), stranger()
    text = fresh()
    task_id = ann.submit(text, key="same").json["taskId"]
    ann.wait(task_id)
    assert bob.result(task_id).code == "task_not_found"
    assert bob.cancel(task_id).status == 404
    assert bob.tasks().json["tasks"] == []
    theirs = bob.submit(text, key="same")
    assert theirs.status == 202, "neither the key nor the cache of somebody else answers"
    assert theirs.json["taskId"] != task_id


def test_a_wrong_token_is_nobody_even_where_none_is_needed(api: Client) -> None:
    answer = Client(base_url=api.base_url, token="isolane_wrong").submit(fresh())
    assert (answer.status, answer.code) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "invalid_json"),
        (b"{bad", 400, "invalid_json"),
        (b'{"text":"a","text":"b"}', 400, "invalid_json"),
        (b'{"text":"\\ud800"}', 400, "invalid_json"),
        (b'{"text":"a","n":NaN}', 400, "invalid_json"),
        (b'{"text":"a","n":1e999}', 400, "invalid_json"),
        (b'{"text":"a","n":' + b"1" * 5000 + b"}", 400, "invalid_json"),
        (b"[" * 20_000 + b"]" * 20_000, 400, "invalid_json"),
        (b"[]", 400, "invalid_request"),
        (b"null", 400, "invalid_request"),
        (b"{}", 400, "text_required"),
        (b'{"text":""}', 400, "text_required"),
        (b'{"text":" \\n\\t "}', 400, "text_required"),
        ('{"text":"\u200b\ufeff \u2060\u00ad\u3164"}'.encode(), 400, "text_required"),
        ('{"text":"\U000e0041"}'.encode(), 400, "text_required"),
        (b'{"text":7}', 400, "invalid_request"),
        (b'{"text":"a","callbackUrl":"https://example.com"}', 400, "invalid_request"),
        (b'{"text":"' + b"x" * 100_001 + b'"}', 413, "text_too_long"),
        (b'{"text":"' + b"x" * 1_048_577 + b'"}', 413, "too_large"),
    ],
)
def test_bad_bodies_have_their_answers(api: Client, body: bytes, status: int, code: str) -> None:
    answer = api.call("POST", "/score", raw=body)
    assert (answer.status, answer.code) == (status, code)
    assert set(answer.json) == {"error", "message"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/result", 400, "task_id_required"),
        ("GET", "/result?taskId=", 400, "task_id_required"),
        ("GET", "/result?taskId=nobody-made-this", 404, "task_not_found"),
        ("GET", "/tasks/nobody-made-this", 404, "task_not_found"),
        ("DELETE", "/tasks/nobody-made-this", 404, "task_not_found"),
        ("GET", "/tasks?cursor=%21%21", 400, "invalid_cursor"),
        ("GET", "/tasks?cursor=e30", 400, "invalid_cursor"),
        ("GET", "/tasks?limit=0", 400, "invalid_request"),
        ("GET", "/tasks?status=done", 400, "invalid_request"),
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/tasks/a/b", 404, "not_found"),
        ("PUT", "/score", 405, "method_not_allowed"),
        ("POST", "/result", 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
    ],
)
def test_bad_calls_have_their_answers(api: Client, method: str, path: str, status: int, code: str) -> None:
    answer = api.call(method, path)
    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["cache-control"] == "no-store"


def test_another_method_is_told_which_there_are(api: Client) -> None:
    assert api.call("PUT", "/tasks/abc").headers["allow"] == "DELETE, GET"


def test_emoji_alone_are_a_text(api: Client) -> None:
    task = api.submit("👩\u200d👩\u200d👧 🇩🇪 👍🏽 " * 50 + uuid.uuid4().hex[:1]).json
    seen = api.result(task["taskId"], prefer="wait=20").json
    judged = {"completed": "result", "in_review": "provisional"}[seen["status"]]
    assert 0 <= seen[judged]["score"] <= 100


def test_a_byte_order_mark_does_not_make_another_text(api: Client) -> None:
    text = fresh()
    api.wait(api.submit(text).json["taskId"])
    assert api.submit("\ufeff" + text).json["cached"] is True


def test_the_longest_text_is_scored(api: Client) -> None:
    """In the largest form that it can have, which fits into no message; for saying one thing over and over, badly."""
    text = fresh("河流塑造土地，因為水攜帶泥沙。然而，人也塑造河流。" * 3_900)
    assert len(text.encode()) > 262_144
    scored = api.wait_for_review(api.submit(text).json["taskId"])
    assert (scored["error"]["code"], scored["provisional"]["truncated"]) == ("low_score", False)
