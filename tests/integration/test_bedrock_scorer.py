"""The bedrock scorer: Converse as the local AWS answers it, and as a double of it misbehaves."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator

import pytest

from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.errors import TimedOut, Unreachable
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected, ReplyUnreadable
from scoring.chain import Scored, build, parse_chain, score_with_chain
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.environment import emulator
from tests.world import settings

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
TEXT = "An essay about the sea.\n\n海很深。"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def bindings(url: str, *, timeout_s: float = 10) -> Bindings:
    return Bindings(settings(AWS_ENDPOINT_URL=url, MODEL_TIMEOUT_SECONDS=str(timeout_s)))


def score(url: str, *, timeout_s: float = 10, within_s: float = 30) -> Scored:
    app = bindings(url, timeout_s=timeout_s)
    scorers = build(
        parse_chain(f"bedrock:{MODEL}"),
        settings=app.settings,
        secret=app.parameters.secret,
        models=lambda: app.models,
    )
    return score_with_chain(TEXT, scorers=scorers, deadline=Deadline.after(within_s))


def test_the_local_models_canned_sentence_is_asked_for_again_and_never_becomes_a_score(emulator_url: str) -> None:
    found = emulator.find(emulator_url)
    if found is None or found.name == "localstack":
        pytest.skip("this emulator has no Bedrock")
    with pytest.raises(ReplyUnreadable) as failed:
        score(emulator_url)
    assert failed.value.requests == 2


def test_a_model_scores_a_text(server: ModelServer) -> None:
    server.play(steps.score(77))
    scored = score(server.url)
    assert (scored.score.score, scored.model, scored.requests) == (77, f"bedrock:{MODEL}", 1)


def test_the_model_reads_the_rubric_as_system_and_the_text_as_user(server: ModelServer) -> None:
    score(server.url)
    [request] = server.requests
    assert request.path == f"/model/{MODEL.replace(':', '%3A')}/converse"
    [system], [message] = request.json["system"], request.json["messages"]
    assert "You mark essays" in system["text"]
    assert message["role"] == "user"
    assert TEXT in message["content"][0]["text"]
    assert request.json["inferenceConfig"]["maxTokens"] > 0


def test_a_bad_reply_is_asked_for_again(server: ModelServer) -> None:
    server.play(steps.content("77, I think"), steps.score(77))
    assert (score(server.url).requests, len(server.requests)) == (2, 2)


OUTCOMES: dict[str, tuple[steps.Step, type[ModelError]]] = {
    "throttled": (steps.failure(429, "ThrottlingException", message="Too many tokens, please wait."), ModelBusy),
    "a day's allowance": (steps.failure(429, "ThrottlingException", message="Too many tokens per day."), ModelRejected),
    "not ready": (steps.failure(429, "ModelNotReadyException"), ModelBusy),
    "unavailable": (steps.failure(503, "ServiceUnavailableException"), ModelBusy),
    "a server error": (steps.failure(500, "InternalServerException"), ModelBusy),
    "the model's own time out": (steps.failure(408, "ModelTimeoutException"), ModelBusy),
    "the model's own error": (steps.failure(424, "ModelErrorException"), ModelBusy),
    "a text that does not fit": (
        steps.failure(400, "ValidationException", message="Input is too long for requested model."),
        InputTooLong,
    ),
    "a window that was used up": (steps.content("", stop="model_context_window_exceeded"), InputTooLong),
    "a bad request": (steps.failure(400, "ValidationException", message=f"Malformed: {TEXT}"), ModelRejected),
    "no access": (steps.failure(403, "AccessDeniedException"), ModelRejected),
    "an unknown model": (steps.failure(404, "ResourceNotFoundException"), ModelRejected),
    "a guardrail": (steps.content("Blocked by guardrail.", stop="guardrail_intervened"), ModelRefused),
    "a filter": (steps.content("", stop="content_filtered"), ModelRefused),
    "an error page": (steps.error_page(), ModelBusy),
    "a page": (steps.error_page(200), ModelBusy),
    "another shape": (steps.status(200, {"output": {"message": {"content": "x"}}}), ModelBusy),
    "no text that is one": ({**steps.status(200), "body_hex": "ff"}, ModelBusy),
    "invalid JSON": (steps.status(200, '{"output"'), ModelBusy),
    "another object": (steps.status(200, {"message": "hello"}), ModelBusy),
    "a list": (steps.status(200, []), ModelBusy),
    "a broken connection": (steps.reset(), ModelBusy),
    "silence": (steps.silent(), ModelBusy),
    "a byte at a time": (steps.slow_body(every_s=0.05), ModelBusy),
}


@pytest.mark.parametrize(("step", "kind"), OUTCOMES.values(), ids=OUTCOMES)
def test_each_misbehaviour_is_one_outcome_of_one_request(
    server: ModelServer, step: steps.Step, kind: type[ModelError]
) -> None:
    """One request each: the SDK's own retries are off."""
    server.play(step)
    with pytest.raises(ModelError) as failed:
        score(server.url, timeout_s=0.5 if step["kind"] in steps.ENDLESS else 20)
    assert type(failed.value) is kind
    assert (failed.value.requests, len(server.requests)) == (1, 1)
    assert "about the sea" not in "".join(traceback.format_exception(failed.value))


def test_the_providers_own_wait_is_passed_on(server: ModelServer) -> None:
    server.play(steps.failure(429, "ThrottlingException", headers={"Retry-After": "7"}))
    with pytest.raises(ModelBusy) as failed:
        score(server.url)
    assert failed.value.retry_after_s == 7


def converse(url: str, *, timeout_s: float, within_s: float = 30) -> None:
    bindings(url).models.converse(
        MODEL, system="s", user="u", max_tokens=1, deadline=Deadline.after(within_s), timeout_s=timeout_s
    )


@pytest.mark.parametrize(("timeout_s", "within_s"), [(0.4, 30), (30, 0.4)])
def test_a_server_that_drips_cannot_stretch_the_limit(server: ModelServer, timeout_s: float, within_s: float) -> None:
    server.play(steps.slow_body(every_s=0.05))
    started_s = time.monotonic()
    with pytest.raises(TimedOut, match=r"timed out after \d+ ms"):
        converse(server.url, timeout_s=timeout_s, within_s=within_s)
    assert 0.4 <= time.monotonic() - started_s < 3


def test_without_time_nothing_is_sent(server: ModelServer) -> None:
    with pytest.raises(TimedOut):
        converse(server.url, timeout_s=10, within_s=0)
    assert server.requests == []


def test_a_host_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        converse("http://127.0.0.1:1", timeout_s=10)
