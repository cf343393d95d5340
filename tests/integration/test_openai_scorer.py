"""The openai scorer against an endpoint that behaves and misbehaves: one outcome each, and every request counted."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import urllib3

from isolane.deadline import Deadline
from isolane.errors import ConfigurationError
from isolane.model_errors import (
    InputTooLong,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRejected,
    ReplyUnreadable,
)
from scoring.chain import Scored, score_with_chain
from scoring.openai_model import OpenAiModel
from scoring.scorers import BuiltinScorer, ModelScorer, Scorer
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.waiting import wait_until

KEY = "sk-0123456789"
TEXT = "An essay about the sea.\n\n海很深。"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def scorer(base_url: str, *, model: str = "model-a", key: str = KEY, timeout_s: float = 10) -> ModelScorer:
    return ModelScorer(f"openai:{model}", OpenAiModel(base_url=base_url, model=model, key=key, timeout_s=timeout_s))


def score(*scorers: Scorer, within_s: float = 30) -> Scored:
    return score_with_chain(TEXT, scorers=scorers, deadline=Deadline.after(within_s))


def test_a_model_scores_a_text(server: ModelServer) -> None:
    server.play(steps.score(77))
    scored = score(scorer(server.base_url))
    assert (scored.score.score, scored.model, scored.requests, scored.fallback) == (77, "openai:model-a", 1, False)


def test_the_request_is_one_that_every_compatible_endpoint_understands(server: ModelServer) -> None:
    score(scorer(f"{server.base_url}/", model="org/model:free"))
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json.keys() == {"model", "messages"}
    assert request.json["model"] == "org/model:free"
    assert [message["role"] for message in request.json["messages"]] == ["system", "user"]
    assert TEXT in request.json["messages"][1]["content"]


def test_an_endpoint_without_a_key_gets_none(server: ModelServer) -> None:
    score(scorer(server.base_url, key=""))
    assert "authorization" not in server.requests[0].headers


def test_a_bad_reply_is_asked_for_again_and_only_once(server: ModelServer) -> None:
    server.play(steps.content("Here you are: 77"), steps.score(77))
    assert (score(scorer(server.base_url)).requests, len(server.requests)) == (2, 2)
    server.play(steps.content("Here you are: 77"))
    with pytest.raises(ReplyUnreadable) as failed:
        score(scorer(server.base_url))
    assert (failed.value.requests, len(server.requests)) == (2, 4)


OUTCOMES: dict[str, tuple[steps.Step, type[ModelError]]] = {
    "a rate limit": (steps.rate_limited("7"), ModelBusy),
    "a used up quota": (steps.quota_exhausted(), ModelRejected),
    "a text that does not fit": (steps.context_length_exceeded(), InputTooLong),
    "a wrong key": (steps.failure(401, "invalid_api_key", message=f"Incorrect key: {KEY}"), ModelRejected),
    "a server error": (steps.failure(500, "server_error"), ModelBusy),
    "an error page": (steps.error_page(), ModelBusy),
    "a page": (steps.error_page(200), ModelBusy),
    "invalid JSON": (steps.status(200, '{"choices": ['), ModelBusy),
    "a redirect": (steps.redirect("http://127.0.0.1:1/"), ModelRejected),
    "a refusal in words": (steps.content("I'm sorry, but I can't help with that."), ModelRefused),
    "a refusal in its field": (steps.content("", refusal="No."), ModelRefused),
    "a filter": (steps.content("", stop="content_filter"), ModelRefused),
    "a broken connection": (steps.reset(), ModelBusy),
    "a cut answer": (steps.cut_body('{"choices"'), ModelBusy),
    "an endless answer": (steps.huge_body(framing="close"), ModelRejected),
    "a bomb": (steps.gzip_bomb(), ModelRejected),
    "silence": (steps.silent(), ModelBusy),
    "a byte at a time": (steps.slow_body(every_s=0.05), ModelBusy),
}


@pytest.mark.parametrize(("step", "kind"), OUTCOMES.values(), ids=OUTCOMES)
def test_each_misbehaviour_is_one_outcome_of_one_request(
    server: ModelServer, step: steps.Step, kind: type[ModelError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(step)
    with pytest.raises(ModelError) as failed:
        score(scorer(server.base_url, timeout_s=0.5 if step["kind"] in steps.ENDLESS else 20))
    assert type(failed.value) is kind
    assert (failed.value.requests, len(server.requests)) == (1, 1)
    shown = "".join(traceback.format_exception(failed.value)) + caplog.text
    assert KEY not in shown
    assert "about the sea" not in shown


def test_the_providers_own_wait_is_passed_on_in_both_of_its_forms(server: ModelServer) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for value, least, most in (("7", 7, 7), (date, 25, 30)):
        server.play(steps.rate_limited(value))
        with pytest.raises(ModelBusy) as failed:
            score(scorer(server.base_url))
        assert failed.value.retry_after_s is not None
        assert least <= failed.value.retry_after_s <= most


def test_a_call_ends_with_the_deadline_even_where_its_own_limit_is_longer(server: ModelServer) -> None:
    server.play(steps.slow_headers(every_s=0.05))
    started_s = time.monotonic()
    with pytest.raises(ModelBusy, match=r"timed out after \d+ ms"):
        score(scorer(server.base_url, timeout_s=10), within_s=0.4)
    assert time.monotonic() - started_s < 3


def test_where_one_endpoint_fails_another_answers_and_is_named(server: ModelServer) -> None:
    with ModelServer() as other:
        server.play(steps.error_page(503))
        scored = score(scorer(server.base_url), scorer(other.base_url, model="model-b"), BuiltinScorer())
    assert (scored.model, scored.fallback, scored.requests) == ("openai:model-b", True, 2)


def test_the_rubric_answers_where_no_endpoint_does(server: ModelServer) -> None:
    server.play(steps.quota_exhausted())
    scored = score(scorer(server.base_url), scorer("http://127.0.0.1:1/v1", model="gone"), BuiltinScorer())
    assert (scored.model, scored.fallback, scored.requests) == ("builtin-rubric", True, 2)


def test_requests_of_one_text_are_bounded_whatever_the_endpoints_do() -> None:
    with ModelServer() as first, ModelServer() as second:
        first.play(steps.rate_limited("1"))
        second.play(steps.content("nonsense"))
        with pytest.raises(ReplyUnreadable) as failed:
            score(scorer(first.base_url), scorer(second.base_url, model="model-b"), BuiltinScorer())
        assert failed.value.requests == len(first.requests) + len(second.requests) == 3


def test_a_key_that_no_header_can_carry_is_a_mistake_in_the_settings_and_not_shown(server: ModelServer) -> None:
    with pytest.raises(ConfigurationError) as failed:
        score(scorer(server.base_url, key=f"{KEY}\nX-Evil: 1"))
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert server.requests == []


def test_texts_scored_side_by_side_get_their_own_nonces_and_scores(server: ModelServer) -> None:
    server.play(*(steps.score(number, delay_s=0.1) for number in range(13)))
    with ThreadPoolExecutor(4) as pool:
        scores = [scored.score.score for scored in pool.map(lambda _: score(scorer(server.base_url)), range(12))]
    assert sorted(scores) == list(range(12))
    assert 2 <= server.max_concurrency <= 4


def ended(record: dict[str, Any]) -> dict[str, Any] | None:
    """The record, once each of its answers has gone out: the one who asked may have it a moment earlier."""
    return record if all(request["ended_s"] is not None for request in record["requests"]) else None


def test_the_server_can_be_scripted_and_read_as_a_process() -> None:
    """As a deployed worker meets it: the steps come and the record goes over HTTP."""
    command = [sys.executable, "-m", "tests.doubles.model_server", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        try:
            url = base_url.removesuffix("/v1")
            assert told("PUT", f"{url}/script", {"steps": [steps.score(31), steps.rate_limited("7")]}) == {}
            assert score(scorer(base_url)).score.score == 31
            with pytest.raises(ModelBusy):
                score(scorer(base_url))
            record = wait_until(lambda: ended(told("GET", f"{url}/requests")), description="both answers have gone out")
            assert (len(record["requests"]), record["maxConcurrency"]) == (2, 1)
            assert all(request["started_s"] <= request["ended_s"] for request in record["requests"])
            told("DELETE", f"{url}/requests")
            assert told("GET", f"{url}/requests") == {"requests": [], "maxConcurrency": 0}
        finally:
            process.terminate()
    wait_until(lambda: process.poll() is not None, description="the server has ended")


def told(method: str, url: str, body: Any = None) -> Any:
    answer = urllib3.request(method, url, json=body, retries=False) if body else urllib3.request(method, url)
    return answer.json()
