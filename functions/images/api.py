"""`POST /images`, `GET /images/{taskId}` and the history; `GET /credits`."""

from __future__ import annotations

from typing import Any

from images import generations as pictures
from images.generations import Generations, key_of
from images.requests import prompt_of
from isolane.api import Answer, Api, Request, whole_number
from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.errors import Contended, Unavailable
from isolane.json_edge import digest
from isolane.ledger import Entry
from isolane.observability import concerns, count, logger
from isolane.serving import serving
from isolane.submissions import id_of
from isolane.task import Status, Task, as_json, retry_after_s, timestamp
from isolane.task_list import LONGEST_PAGE, Owned, list_tasks

LINK_S = 300
"""How long a link to a picture leads there."""
_OWN_IMAGES = Owned(index="images-by-owner", attribute="image_owner")
_PAGE = 20


class Images:
    """The handlers, over the pictures on their way and the accounts."""

    def __init__(self, app: Bindings, generations: Generations) -> None:
        self._app = app
        self._generations = generations

    def submit(self, request: Request) -> Answer:
        prompt, owner = prompt_of(request.json_object()), request.caller.name
        paid = self._generations.tasks
        new = paid.new(
            task_id=id_of(owner=owner, idempotency_key=request.headers.get("idempotency-key")),
            owner=owner,
            fingerprint=digest({"kind": paid.kind, "prompt": prompt}),
            prompt=prompt,
            price=self._app.settings.image_price,
        )
        concerns(task_id=new.task_id)
        task = paid.add(new)
        replayed = task.nonce != new.nonce
        if replayed:
            task = self._app.tasks.settled(task)
        else:
            count("images_submitted")
            task = self._handed_over(task, deadline=request.deadline)
        headers = {"Location": f"images/{task.task_id}", **({"Idempotent-Replayed": "true"} if replayed else {})}
        return self._answer(task, status=200 if replayed and task.terminal else 202, headers=headers)

    def _handed_over(self, task: Task, *, deadline: Deadline) -> Task:
        """Whoever has paid is told the task, also where a service fails then: without its id they would pay again."""
        try:
            return self._generations.hand_over(task, deadline=deadline)
        except (Contended, Unavailable) as error:
            logger().warning("paid for, and not noted as handed over", extra={"error": type(error).__name__})
            return task

    def image(self, request: Request, *, task_id: str) -> Answer:
        concerns(task_id=task_id)
        task, mine = self._generations.tasks.look(task_id, owner=request.caller.name)
        if mine:
            task = self._generations.carry_on(task, deadline=request.deadline)
        return self._answer(task)

    def images(self, request: Request) -> Answer:
        page = list_tasks(
            self._app.tasks,
            owner=request.caller.name,
            limit=_limit(request),
            cursor=request.query.get("cursor"),
            owned=_OWN_IMAGES,
        )
        return Answer(body={"images": [self._shown(task) for task in page.tasks], "cursor": page.cursor})

    def credits(self, request: Request) -> Answer:
        statement = self._app.ledger.statement(
            request.caller.name, limit=_limit(request), cursor=request.query.get("cursor")
        )
        return Answer(
            body={
                "balance": statement.balance,
                "entries": [_entry(entry) for entry in statement.entries],
                "cursor": statement.cursor,
            }
        )

    def _answer(self, task: Task, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
        again = {} if task.terminal else {"Retry-After": str(retry_after_s(task, self._app.tasks.now_ms()))}
        return Answer(status=status, body=self._shown(task), headers={**again, **(headers or {})})

    def _shown(self, task: Task) -> dict[str, Any]:
        """The task, with a link of its own to its picture."""
        if task.status is not Status.COMPLETED:
            return as_json(task)
        return {**as_json(task), "imageUrl": self._app.links.link(key_of(task), ttl_s=LINK_S)}


def _limit(request: Request) -> int:
    return whole_number(request.query.get("limit"), name="limit", default=_PAGE, smallest=1, largest=LONGEST_PAGE)


def _entry(entry: Entry) -> dict[str, Any]:
    seen = {
        "id": entry.entry_id,
        "credits": entry.credits,
        "reason": entry.reason,
        "taskId": entry.task_id,
        "at": timestamp(entry.at_ms),
    }
    return {name: value for name, value in seen.items() if value is not None}


def build(app: Bindings, *, generations: Generations | None = None) -> Api:
    """The routes of this function. Raises ConfigurationError where no picture could ever be made."""
    images = Images(app, generations if generations is not None else pictures.build(app))
    api = Api(callers=app.callers, posts=app.posts)
    api.route("POST", "/images", images.submit)
    api.route("GET", "/images", images.images)
    api.route("GET", "/images/<task_id>", images.image)
    api.route("GET", "/credits", images.credits)
    return api


handler = serving(build)
"""What Lambda calls."""
