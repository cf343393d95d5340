"""What an answer of an OpenAI-compatible endpoint means: each is a message or one named failure, never a guess."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from isolane.errors import ConfigurationError
from isolane.http import Reply
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelOutcome, ModelRefused, ModelRejected
from scoring.openai_model import OpenAiModel, content_of

NOW = datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC)
SECRET = "sk-0123456789"


def reply(status: int, body: Any = "", **headers: str) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(
        status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=text.encode()
    )


def completion(message: Any, *, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def error(code: Any = None, *, kind: str = "", message: str = "No.") -> dict[str, Any]:
    return {"error": {"code": code, "type": kind, "message": message}}


SAYS: dict[str, tuple[Any, str]] = {
    "text": (completion({"role": "assistant", "content": "{}"}), "{}"),
    "text that was cut": (completion({"content": '{"no'}, reason="length"), '{"no'),
    "nothing": (completion({"content": None}), ""),
    "an empty text": (completion({"content": ""}), ""),
    "no content at all": (completion({"tool_calls": []}), ""),
    "parts": (completion({"content": [{"type": "text", "text": "{}"}]}), ""),
    "no reason": ({"choices": [{"message": {"content": "x"}}]}, "x"),
    "an empty refusal": (completion({"content": "x", "refusal": ""}), "x"),
}
FAILS: dict[str, tuple[Reply, type[ModelError]]] = {
    "a refusal": (reply(200, completion({"content": None, "refusal": "I cannot."})), ModelRefused),
    "a filtered answer": (reply(200, completion({"content": "half"}, reason="content_filter")), ModelRefused),
    "a filtered question": (reply(400, error("content_filter")), ModelRefused),
    "a page": (reply(200, "<html>Welcome</html>"), ModelBusy),
    "an empty body": (reply(200), ModelBusy),
    "a body that is cut": (reply(200, '{"choices": [{"mess'), ModelBusy),
    "a list": (reply(200, [completion({"content": "x"})]), ModelBusy),
    "a duplicate key": (reply(200, '{"choices": [], "choices": [{"message": {"content": "x"}}]}'), ModelBusy),
    "no choices": (reply(200, {"choices": []}), ModelBusy),
    "choices that are none": (reply(200, {"choices": "x"}), ModelBusy),
    "a message that is none": (reply(200, completion("x")), ModelBusy),
    "an error that says 200": (reply(200, error(429)), ModelBusy),
    "a used up quota that says 200": (reply(200, error("insufficient_quota")), ModelRejected),
    "a rate limit": (reply(429, error("rate_limit_exceeded")), ModelBusy),
    "a used up quota": (reply(429, error("insufficient_quota")), ModelRejected),
    "a used up quota by its type": (reply(429, error(kind="insufficient_quota")), ModelRejected),
    "no credit": (reply(402, error(message="Insufficient credits")), ModelRejected),
    "a wrong key": (
        reply(401, error("invalid_api_key", message=f"Incorrect API key provided: {SECRET}")),
        ModelRejected,
    ),
    "a forbidden model": (reply(403, error()), ModelRejected),
    "an unknown model": (reply(404, error("model_not_found")), ModelRejected),
    "a wrong field": (reply(400, error("unsupported_value")), ModelRejected),
    "a 400 in unknown words": (reply(400, "nope"), ModelRejected),
    "a text that does not fit": (reply(400, error("context_length_exceeded")), InputTooLong),
    "the same, in a status of 500": (reply(500, error("context_length_exceeded")), InputTooLong),
    "the same, by an older server": (
        reply(400, {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400}),
        InputTooLong,
    ),
    "the same, as a text": (reply(422, {"error": "prompt is too long"}), InputTooLong),
    "the same, without words": (reply(413), InputTooLong),
    "a validator that repeats the text": (
        reply(422, {"detail": [{"input": "An essay about the context window"}]}),
        ModelRejected,
    ),
    "a slow request": (reply(408), ModelBusy),
    "a redirect": (reply(302, location="https://elsewhere.example/"), ModelRejected),
    "a server error": (reply(500, error("server_error")), ModelBusy),
    "an error page": (reply(502, "<html><h1>Bad Gateway</h1></html>"), ModelBusy),
    "overloaded": (reply(529, error("overloaded_error")), ModelBusy),
}


@pytest.mark.parametrize(("body", "content"), SAYS.values(), ids=SAYS)
def test_a_completion_is_its_message(body: Any, content: str) -> None:
    assert content_of(reply(200, body), now=NOW) == content


@pytest.mark.parametrize(("answer", "kind"), FAILS.values(), ids=FAILS)
def test_every_other_answer_is_one_named_failure(answer: Reply, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as failed:
        content_of(answer, now=NOW)
    assert type(failed.value) is kind
    assert failed.value.outcome in set(ModelOutcome) - {ModelOutcome.SCORED}
    assert failed.value.retryable is (kind is ModelBusy)
    assert SECRET not in repr(failed.value)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize(("value", "seconds"), [("30", 30), ("Sun, 29 Nov 2026 18:00:20 GMT", 20), ("soon", None)])
def test_a_busy_endpoint_says_how_long(status: int, value: str, seconds: float | None) -> None:
    with pytest.raises(ModelBusy) as failed:
        content_of(reply(status, error(), retry_after=value), now=NOW)
    assert failed.value.retry_after_s == seconds


def test_the_key_is_not_shown() -> None:
    model = OpenAiModel(base_url="https://api.example/v1", model="m", key=SECRET, timeout_s=10)
    assert SECRET not in repr(model)


def test_without_a_base_url_there_is_no_endpoint() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        OpenAiModel(base_url="", model="m", key=SECRET, timeout_s=10)
