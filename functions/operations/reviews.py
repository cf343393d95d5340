"""`GET /admin/reviews` and `POST /admin/reviews/{taskId}`: what a human has to judge, and the verdict."""

from __future__ import annotations

import functools
from typing import Any

from isolane.api import Answer, Request, whole_number
from isolane.bindings import Bindings
from isolane.characters import clean
from isolane.errors import InvalidRequest
from isolane.observability import count, logger
from isolane.reviews import Review
from isolane.shapes import Shape
from isolane.task import as_json, timestamp
from web import document

ROLES = ("reviewer", "admin")
_PAGE = 5
_LONGEST_PAGE = 10
"""Ten of the longest texts fit into an answer of Lambda's, which may have 6 MB."""


class Reviewing:
    """The handlers, over the tasks in review."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def take(self, request: Request) -> Answer:
        """Takes a page of reviews for the caller, with their texts."""
        page = self._app.reviews.take(
            reviewer=request.caller.name,
            limit=whole_number(
                request.query.get("limit"), name="limit", default=_PAGE, smallest=1, largest=_LONGEST_PAGE
            ),
            cursor=request.query.get("cursor"),
        )
        return Answer(body={"reviews": [_shown(review) for review in page.reviews], "cursor": page.cursor})

    def judge(self, request: Request, *, task_id: str) -> Answer:
        """Completes a task that the caller has taken."""
        verdict = request.json_object()
        _verdict().check(verdict)
        comments = [clean(comment) for comment in verdict["comments"]]
        if not all(comments):  # what the document's pattern cannot say: planes beyond the first
            raise InvalidRequest("A comment is a text of 1 to 1,000 characters that can be read.")
        model = next(role for role in ROLES if role in request.caller.roles)
        task = self._app.tasks.judge(
            task_id,
            reviewer=request.caller.name,
            result=_result(verdict["score"], comments, model=model),
            model=model,
        )
        count("reviewed")
        logger().info("reviewed", extra={"task_id": task.task_id})
        return Answer(body=as_json(task))


def _result(score: float, comments: list[str], *, model: str) -> dict[str, Any]:
    """A score as others have it; a human gives one mark, and no parts of it are made up."""
    return {
        "score": int(score),  # in JSON 85.0 is a whole number, too
        "dimensions": {},
        "comments": comments,
        "model": model,
        "truncated": False,
    }


def _shown(review: Review) -> dict[str, Any]:
    """A review as its reviewer sees it: without the owner's name."""
    task = review.task
    return {
        "taskId": task.task_id,
        "kind": task.kind,
        "createdAt": timestamp(task.created_at_ms),
        "dueAt": timestamp(task.deadline_ms),
        "leasedUntil": timestamp(task.lease_until_ms),
        "reason": vars(task.error) if task.error is not None else None,
        "provisional": task.provisional,
        "text": review.text,
    }


@functools.cache
def _verdict() -> Shape:
    return Shape("Verdict", schemas=document.schemas())
