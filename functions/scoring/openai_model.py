"""Any endpoint that speaks OpenAI's chat completions: one request, and what its answer means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from isolane import http
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, InvalidJson, InvalidRequest
from isolane.json_edge import dumps, parse_object
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected
from isolane.provider_words import retry_after_s, says_filtered, says_quota, says_too_long, sentence_in
from scoring.prompt import Prompt

MAX_BYTES = 1_048_576
_FOR_NOW = {408, 409, 425, 429}


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class OpenAiModel:
    """One model at one endpoint."""

    base_url: str
    """Up to and with the version, as OpenAI's own clients take it: https://api.openai.com/v1."""
    model: str
    key: str = field(repr=False)
    """Sent as a bearer token; "" for an endpoint that wants none."""
    timeout_s: float
    now: Callable[[], datetime] = field(default=_now, repr=False)

    def __post_init__(self) -> None:
        if not self.base_url:
            raise ConfigurationError("A scorer openai:… needs a base URL (OPENAI_BASE_URL).")

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        """What the model says, "" where that is nothing. Raises an OutgoingError, mostly a ModelError."""
        reply = http.request(
            "POST",
            f"{self.base_url.rstrip('/')}/chat/completions",
            headers=self._headers(),
            body=dumps(self._question(prompt)).encode(),
            deadline=deadline,
            timeout_s=self.timeout_s,
            max_bytes=MAX_BYTES,
        )
        return content_of(reply, now=self.now())

    def _headers(self) -> dict[str, str]:
        authorization = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return {"content-type": "application/json", "accept": "application/json", **authorization}

    def _question(self, prompt: Prompt) -> Any:
        """Nothing but the model and what it reads: each further field is one that some endpoint answers with 400."""
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        return {"model": self.model, "messages": messages}


def content_of(reply: http.Reply, *, now: datetime) -> str:
    """The message in a completion. Raises a ModelError for every other answer; none of them repeats it."""
    if not 200 <= reply.status < 300:
        raise _failure(reply, now=now)
    try:
        choice: Any = parse_object(reply.body, max_bytes=MAX_BYTES)["choices"]
        message, reason = choice[0]["message"], choice[0].get("finish_reason")
        refusal, content = message.get("refusal"), message.get("content")
    except (InvalidJson, InvalidRequest, KeyError, IndexError, TypeError, AttributeError):
        raise _failure(reply, now=now) from None
    if refusal or reason == "content_filter":
        raise ModelRefused
    return content if isinstance(content, str) else ""


def _failure(reply: http.Reply, *, now: datetime) -> ModelError:
    """What went wrong: by what the answer says, then by its status, since gateways wrap errors in other statuses."""
    sentence = sentence_in(reply.body, max_bytes=MAX_BYTES)
    if says_quota(sentence):
        return ModelRejected("The allowance at the model's provider is used up.")
    if says_too_long(sentence) or reply.status == 413:
        return InputTooLong()
    if says_filtered(sentence) and reply.status == 400:
        return ModelRefused()
    if 300 <= reply.status < 500 and reply.status not in _FOR_NOW:
        return ModelRejected(f"The model's provider does not accept the request (status {reply.status}).")
    wait_s = retry_after_s(reply.headers, now=now)
    return ModelBusy(f"The model cannot answer for now (status {reply.status}).", retry_after_s=wait_s)
