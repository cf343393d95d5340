"""`POST /score` and what leads to its result: `GET /result`, `GET /tasks`, `GET` and `DELETE /tasks/{taskId}`."""

from __future__ import annotations

from typing import Any

from isolane.api import Answer, Api, Request, whole_number
from isolane.bindings import Bindings
from isolane.errors import InvalidRequest
from isolane.json_edge import digest
from isolane.observability import concerns
from isolane.serving import serving
from isolane.submissions import Submission
from isolane.task import Status, Task, as_json
from isolane.task_list import LONGEST_PAGE, list_tasks
from scoring.cache import cache_key, way_of_scoring
from scoring.limits import check
from scoring.observed import submitted
from scoring.polling import answer, preferred_wait_s, wait_for_end
from scoring.text import text_of

KIND = "score"
_PAGE = 20


class Scoring:
    """The handlers, over the parts that they need."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def submit(self, request: Request) -> Answer:
        text = text_of(request.json_object())
        made = self._app.scores.submit(
            Submission(
                kind=KIND,
                owner=request.caller.name,
                text=text,
                fingerprint=digest({"kind": KIND, "text": text}),
                cache_key=cache_key(text, owner=request.caller.name, chain=way_of_scoring(self._app.settings)),
                idempotency_key=request.headers.get("idempotency-key"),
            )
        )
        submitted(made)
        headers = {"Location": f"result?taskId={made.task.task_id}"}
        if made.replayed:
            headers["Idempotent-Replayed"] = "true"
        return self._answer(made.task, status=200 if made.task.terminal else 202, headers=headers)

    def result(self, request: Request) -> Answer:
        task_id = request.query.get("taskId")
        if not task_id:
            raise InvalidRequest("taskId is needed.", code="task_id_required")
        return self.task(request, task_id=task_id)

    def task(self, request: Request, *, task_id: str) -> Answer:
        concerns(task_id=task_id)
        wait_s = preferred_wait_s(request)
        task = wait_for_end(
            lambda: self._app.tasks.read(task_id, owner=request.caller.name), wait_s=wait_s, deadline=request.deadline
        )
        waited = {"Preference-Applied": f"wait={wait_s}"} if wait_s else {}
        return self._answer(task, headers=waited)

    def cancel(self, request: Request, *, task_id: str) -> Answer:
        concerns(task_id=task_id)
        return self._answer(self._app.tasks.cancel(task_id, owner=request.caller.name), status=202)

    def tasks(self, request: Request) -> Answer:
        page = list_tasks(
            self._app.tasks,
            owner=request.caller.name,
            limit=whole_number(
                request.query.get("limit"), name="limit", default=_PAGE, smallest=1, largest=LONGEST_PAGE
            ),
            cursor=request.query.get("cursor"),
            wanted=_filter(status=request.query.get("status"), kind=request.query.get("kind")),
        )
        return Answer(body={"tasks": [as_json(task) for task in page.tasks], "cursor": page.cursor})

    def _answer(self, task: Task, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
        return answer(task, now_ms=self._app.tasks.now_ms(), status=status, headers=headers)


def _filter(*, status: str | None, kind: str | None) -> Any:
    if status is not None and status not in set(Status):
        raise InvalidRequest(f"status is one of {', '.join(Status)}.")
    return lambda task: (status is None or task.status == status) and (kind is None or task.kind == kind)


def build(app: Bindings) -> Api:
    """The routes of this function. Raises ConfigurationError where no text could ever be scored."""
    check(app.settings)
    scoring, api = Scoring(app), Api(callers=app.callers, posts=app.posts)
    api.route("POST", "/score", scoring.submit)
    api.route("GET", "/result", scoring.result)
    api.route("GET", "/tasks", scoring.tasks)
    api.route("GET", "/tasks/<task_id>", scoring.task)
    api.route("DELETE", "/tasks/<task_id>", scoring.cancel)
    return api


handler = serving(build)
"""What Lambda calls."""
