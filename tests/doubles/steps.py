"""What the model server can be told to do with a request: one function, one step of its script."""

from __future__ import annotations

import functools
import gzip
import json
from typing import Any, TypeAlias

Step: TypeAlias = dict[str, Any]
"""As it travels in PUT /script: `kind`, and what that kind asks for; `delay_s` before any of them."""

ENDLESS = frozenset({"silent", "slow_headers", "slow_body"})
"""The kinds that last for as long as they are waited for."""


def score(value: Any = 80, *, delay_s: float = 0, **other: Any) -> Step:
    """A good verdict, or one with other fields than a good one has."""
    dimensions = dict.fromkeys(("content", "structure", "language", "mechanics"), value)
    verdict = {"nonce": "{nonce}", "score": value, "dimensions": dimensions, "comments": ["Clear."], **other}
    return content(json.dumps(verdict), delay_s=delay_s)


def content(text: str, *, stop: str | None = None, delay_s: float = 0, **message: Any) -> Step:
    """A model's answer in these words; `{nonce}` in them becomes the nonce that the model was given."""
    step = {"kind": "content", "content": text, "delay_s": delay_s, "message": message}
    return step if stop is None else {**step, "stop": stop}


def embeddings(*, delay_s: float = 0, refuses: str = "", bad: dict[str, Any] | None = None) -> Step:
    """A vector for each text that was sent, the last one first, with their indexes; 400 where `refuses` is in a text.

    A text that has a key of `bad` in it gets what is there instead, whatever that is.
    """
    return {"kind": "embeddings", "delay_s": delay_s, "refuses": refuses, "bad": bad or {}}


def status(code: int, body: Any = "", *, headers: dict[str, str] | None = None) -> Step:
    """Any status with any body; what is not a text is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"kind": "status", "status": code, "body": text, "headers": headers or {}}


def failure(code: int, name: str, *, message: str = "No.", headers: dict[str, str] | None = None) -> Step:
    """An error as OpenAI words it, which is also one as Bedrock words it."""
    body = {"error": {"code": name, "type": name, "message": message}, "message": message}
    return status(code, body, headers={"x-amzn-ErrorType": name, **(headers or {})})


def rate_limited(retry_after: str | None = None) -> Step:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return failure(429, "rate_limit_exceeded", headers=headers)


def quota_exhausted() -> Step:
    return failure(429, "insufficient_quota")


def context_length_exceeded() -> Step:
    return failure(400, "context_length_exceeded", message="This model's maximum context length is 8192 tokens.")


def error_page(code: int = 502) -> Step:
    return status(code, "<html><body><h1>Bad Gateway</h1></body></html>", headers={"Content-Type": "text/html"})


def redirect(location: str) -> Step:
    return status(302, headers={"Location": location})


def slow_headers(*, every_s: float) -> Step:
    """A byte of a header line at a time, for ever."""
    return {"kind": "slow_headers", "every_s": every_s}


def slow_body(*, every_s: float) -> Step:
    """A byte of the body at a time, for ever."""
    return {"kind": "slow_body", "every_s": every_s}


def silent() -> Step:
    """Takes the request and says nothing."""
    return {"kind": "silent"}


def huge_body(*, framing: str) -> Step:
    """A body without end; `framing` is length, close or chunked."""
    return {"kind": "huge_body", "framing": framing}


def endless_line() -> Step:
    """A chunked body whose first size line never ends."""
    return {"kind": "endless_line"}


def reset() -> Step:
    """Breaks the connection instead of answering."""
    return {"kind": "reset"}


def cut_body(text: str) -> Step:
    """Says that 1,000 bytes will come, sends these and hangs up."""
    return raw(f"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{text}")


def raw(data: str) -> Step:
    """These bytes, and then nothing."""
    return {"kind": "raw", "data": data}


def gzip_bomb() -> Step:
    """A few KB that become 20 MiB."""
    return {"kind": "gzip_bomb"}


@functools.cache
def bomb() -> bytes:
    return gzip.compress(b"\0" * 20_971_520)
