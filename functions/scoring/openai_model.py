"""Any endpoint that speaks OpenAI's chat completions: one request, and what its answer means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from isolane import http
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, InvalidJson, InvalidRequest
from isolane.json_edge import parse_object
from isolane.json_endpoint import JsonEndpoint
from isolane.model_errors import ModelRefused
from isolane.openai_endpoint import failure
from isolane.provider_words import utc_now
from scoring.prompt import Prompt

MAX_BYTES = 1_048_576


@dataclass(frozen=True, kw_only=True)
class OpenAiModel:
    """One model at one endpoint."""

    base_url: str
    """Up to and with the version, as OpenAI's own clients take it: https://api.openai.com/v1."""
    model: str
    key: str = field(repr=False)
    """Sent as a bearer token; "" for an endpoint that wants none."""
    timeout_s: float
    now: Callable[[], datetime] = field(default=utc_now, repr=False)

    def __post_init__(self) -> None:
        if not self.base_url:
            raise ConfigurationError("A scorer openai:… needs a base URL (OPENAI_BASE_URL).")

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
        """What the model says, "" where that is nothing. Raises an OutgoingError, mostly a ModelError."""
        reply = self._endpoint.post("chat/completions", self._question(prompt), deadline=deadline)
        return content_of(reply, now=self.now())

    @property
    def _endpoint(self) -> JsonEndpoint:
        return JsonEndpoint(base_url=self.base_url, key=self.key, timeout_s=self.timeout_s, max_bytes=MAX_BYTES)

    def _question(self, prompt: Prompt) -> Any:
        """Nothing but the model and what it reads: each further field is one that some endpoint answers with 400."""
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        return {"model": self.model, "messages": messages}


def content_of(reply: http.Reply, *, now: datetime) -> str:
    """The message in a completion. Raises a ModelError for every other answer; none of them repeats it."""
    if not 200 <= reply.status < 300:
        raise failure(reply, now=now, max_bytes=MAX_BYTES)
    try:
        choice: Any = parse_object(reply.body, max_bytes=MAX_BYTES)["choices"]
        message, reason = choice[0]["message"], choice[0].get("finish_reason")
        refusal, content = message.get("refusal"), message.get("content")
    except (InvalidJson, InvalidRequest, KeyError, IndexError, TypeError, AttributeError):
        raise failure(reply, now=now, max_bytes=MAX_BYTES) from None
    if refusal or reason == "content_filter":
        raise ModelRefused
    return content if isinstance(content, str) else ""
