"""The API as a user's program sees it: verbs over HTTP, and nothing of the product's code."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import urllib3


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The error's code; what is not an error has none."""
        return str(self.json["error"])


@dataclass(frozen=True, kw_only=True)
class Client:
    """A caller of the API, with a token or without one."""

    base_url: str
    token: str | None = None
    pool: urllib3.PoolManager = field(
        default_factory=lambda: urllib3.PoolManager(maxsize=32, retries=False, timeout=urllib3.Timeout(total=60))
    )

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; `body` is sent as JSON, `raw` as it is."""
        sent = dict(headers or {})
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        data = raw if raw is not None or body is None else json.dumps(body).encode()
        answer = self.pool.request(method, f"{self.base_url}{path}", body=data, headers=sent)
        lowered = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(status=answer.status, headers=lowered, text=answer.data.decode())

    def submit(self, text: str, *, key: str | None = None) -> Answer:
        return self.call("POST", "/score", body={"text": text}, headers={"Idempotency-Key": key} if key else None)

    def result(self, task_id: str, *, prefer: str | None = None) -> Answer:
        headers = {"Prefer": prefer} if prefer is not None else None
        return self.call("GET", f"/result?taskId={task_id}", headers=headers)

    def tasks(self, **query: Any) -> Answer:
        return self.call("GET", f"/tasks?{urlencode(query)}")

    def reviews(self, **query: Any) -> Answer:
        return self.call("GET", f"/admin/reviews?{urlencode(query)}")

    def judge(self, task_id: str, *, score: int, comments: list[str]) -> Answer:
        return self.call("POST", f"/admin/reviews/{task_id}", body={"score": score, "comments": comments})

    def cancel(self, task_id: str) -> Answer:
        return self.call("DELETE", f"/tasks/{task_id}")

    def order(self, prompt: str, *, key: str | None = None) -> Answer:
        """A picture is paid for."""
        return self.call("POST", "/images", body={"prompt": prompt}, headers={"Idempotency-Key": key} if key else None)

    def image(self, task_id: str) -> Answer:
        return self.call("GET", f"/images/{task_id}")

    def images(self, **query: Any) -> Answer:
        return self.call("GET", f"/images?{urlencode(query)}")

    def credits(self, **query: Any) -> Answer:
        return self.call("GET", f"/credits?{urlencode(query)}")

    def wait_for_image(self, task_id: str, *, timeout_s: float = 60) -> Any:
        """The picture's task once it is terminal, asked as often as its answers say. Raises TimeoutError."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            answer = self.image(task_id)
            if answer.status == 200 and answer.json["terminal"]:
                return answer.json
            time.sleep(min(2.0, float(answer.headers.get("retry-after", "1"))))
        raise TimeoutError(f"{task_id} is not terminal after {timeout_s} s")

    def wait(self, task_id: str, *, timeout_s: float = 60) -> Any:
        """The task once it is terminal, by long polls. Raises TimeoutError."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            task = self.result(task_id, prefer="wait=10").json
            if task["terminal"]:
                return task
        raise TimeoutError(f"{task_id} is not terminal after {timeout_s} s")

    def wait_for_review(self, task_id: str, *, timeout_s: float = 60) -> Any:
        """The task once a human has to look at it. Raises TimeoutError."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            task = self.result(task_id, prefer="wait=1").json
            if task["status"] == "in_review":
                return task
        raise TimeoutError(f"{task_id} is not in review after {timeout_s} s")

    def reviews_to(self, task_id: str) -> Any:
        """The reviews that are taken on the way to a task's own, which comes last."""
        taken, cursor = [], None
        while True:
            page = self.reviews(limit=10, **({"cursor": cursor} if cursor else {})).json
            for review in page["reviews"]:
                taken.append(review)
                if review["taskId"] == task_id:
                    return taken
            cursor = page["cursor"]
            if cursor is None:
                raise LookupError(f"{task_id} is not to be had")
