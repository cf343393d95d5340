"""An API that speaks JSON and takes a bearer token: one request, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isolane import http
from isolane.deadline import Deadline
from isolane.json_edge import dumps


@dataclass(frozen=True, kw_only=True)
class JsonEndpoint:
    """Where a provider's API is."""

    base_url: str
    """Up to and with the version, as OpenAI's own clients take it: https://api.openai.com/v1."""
    key: str = field(repr=False)
    """Sent as a bearer token; "" for an endpoint that wants none."""
    timeout_s: float
    max_bytes: int
    """Of an answer."""

    def post(
        self, path: str, question: Any = None, *, deadline: Deadline, headers: Mapping[str, str] | None = None
    ) -> http.Reply:
        """One request, whatever its status; without a body where there is no question. Raises an OutgoingError."""
        body = b"" if question is None else dumps(question).encode()
        named = {"content-type": "application/json", **(headers or {})}
        return self._request("POST", path, body=body, deadline=deadline, headers=named)

    def get(self, path: str, *, deadline: Deadline) -> http.Reply:
        """The same, asking for what is there."""
        return self._request("GET", path, body=None, deadline=deadline, headers={})

    def _request(
        self, method: str, path: str, *, body: bytes | None, deadline: Deadline, headers: Mapping[str, str]
    ) -> http.Reply:
        authorization = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return http.request(
            method,
            f"{self.base_url.rstrip('/')}/{path}",
            headers={"accept": "application/json", **authorization, **headers},
            body=body,
            deadline=deadline,
            timeout_s=self.timeout_s,
            max_bytes=self.max_bytes,
        )
