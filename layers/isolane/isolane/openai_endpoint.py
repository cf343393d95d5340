"""Endpoints that speak OpenAI's HTTP, or word their errors alike: what it means where the answer is none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from isolane import http
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected
from isolane.provider_words import retry_after_s, says_filtered, says_quota, says_too_long, sentence_in

_FOR_NOW = {408, 409, 425, 429}


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
