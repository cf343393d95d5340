"""Any endpoint that speaks OpenAI's HTTP: one request, and what it means where the answer is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from isolane import http
from isolane.deadline import Deadline
from isolane.json_edge import dumps
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected
from isolane.provider_words import retry_after_s, says_filtered, says_quota, says_too_long, sentence_in

_FOR_NOW = {408, 409, 425, 429}


@dataclass(frozen=True, kw_only=True)
class OpenAiEndpoint:
    """Where a provider's models are."""

    base_url: str
    """Up to and with the version, as OpenAI's own clients take it: https://api.openai.com/v1."""
    key: str = field(repr=False)
    """Sent as a bearer token; "" for an endpoint that wants none."""
    timeout_s: float
    max_bytes: int
    """Of an answer."""

    def post(self, path: str, question: Any, *, deadline: Deadline) -> http.Reply:
        """One request, whatever its status. Raises an OutgoingError."""
        return http.request(
            "POST",
            f"{self.base_url.rstrip('/')}/{path}",
            headers=self._headers(),
            body=dumps(question).encode(),
            deadline=deadline,
            timeout_s=self.timeout_s,
            max_bytes=self.max_bytes,
        )

    def _headers(self) -> dict[str, str]:
        authorization = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return {"content-type": "application/json", "accept": "application/json", **authorization}


def rejected(status: int) -> ModelError:
    """What another status of 3xx or 4xx means."""
    return ModelRejected(f"The model's provider does not accept the request (status {status}).")


def failure(
    reply: http.Reply, *, now: datetime, max_bytes: int, rejected: Callable[[int], ModelError] = rejected
) -> ModelError:
    """What went wrong: by what the answer says, then by its status, since gateways wrap errors in other statuses."""
    sentence = sentence_in(reply.body, max_bytes=max_bytes)
    if says_quota(sentence):
        return ModelRejected("The allowance at the model's provider is used up.")
    if says_too_long(sentence) or reply.status == 413:
        return InputTooLong()
    if says_filtered(sentence) and reply.status == 400:
        return ModelRefused()
    if 300 <= reply.status < 500 and reply.status not in _FOR_NOW:
        return rejected(reply.status)
    wait_s = retry_after_s(reply.headers, now=now)
    return ModelBusy(f"The model cannot answer for now (status {reply.status}).", retry_after_s=wait_s)
