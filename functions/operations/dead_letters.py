"""Dead letters are kept where they can be listed and retried, and their tasks are failed.

A message comes here in two ways: a worker put it aside with a reason, or SQS moved it after a thousand receives. Either
way it becomes a row of State, and the task that is still waiting for it, or the document of a batch, is failed.
"""

from __future__ import annotations

import functools
import time
from typing import Any

from isolane.aws.queue import Queue
from isolane.bindings import Bindings
from isolane.consumer import Consumer, Message
from isolane.deadline import Deadline
from isolane.documents import Document
from isolane.errors import Refused
from isolane.json_edge import parse_object
from isolane.observability import count, invocation, logger
from isolane.task import Problem, Status, Task, is_task_id, timestamp
from isolane.tasks import Tasks

PARTITION = "dead-letters"
BACKSTOP = "received_too_often"
"""The reason where SQS moved the message by itself."""
_NO_VECTOR = "The document could not be embedded, and its message was put aside."
_ABANDONED = "The task could not be carried out, and its message was put aside."


class DeadLetters:
    """What happens to each dead letter."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def bury(self, message: Message) -> None:
        """Fails the message's task, then keeps the message under its id, so that twice is once.

        In this order, as a task may still come to another end (a late success, a review, a cancellation): then nothing
        has died, and there is nothing to keep. A crash between the two is mended by the next delivery.
        """
        reason, body = _reason(message), str(message.record["body"])
        task = self._failed(_task(self._app.tasks, body), reason=reason)
        task_id = task.task_id if task is not None else None
        if task is not None and task.status is not Status.FAILED:
            logger().warning("dead letter of a task that did not fail", extra={"reason": reason, "task_id": task_id})
            return
        document = _document(body)
        if document is not None and not self._marked(document, reason=reason):
            logger().warning("dead letter of a document that has its vector", extra={"reason": reason})
            return
        self._app.state.put(
            {
                "pk": PARTITION,
                "sk": task_id if task_id is not None else f"message#{message.message_id}",
                "reason": reason,
                "body": body,
                "owner": task.owner if task is not None else document.owner if document is not None else None,
                "at": timestamp(int(time.time() * 1000)),
            }
        )
        count("dead_letters")
        logger().error("dead letter", extra={"reason": reason, "task_id": task_id})

    def _failed(self, task: Task | None, *, reason: str) -> Task | None:
        """The task as it ended: by this, or before."""
        if task is None or task.terminal:
            return task
        return self._app.tasks.abandon(task, Problem(code=reason, message=_ABANDONED))

    def _marked(self, document: Document, *, reason: str) -> bool:
        """Marks the document as failed. False where it is done."""
        problem = Problem(code=reason, message=_NO_VECTOR)
        batch = self._app.batches.mark(document.batch_id, problems={document.index: (document.document_id, problem)})
        return batch is None or document.index not in batch.done


def _reason(message: Message) -> str:
    attribute = (message.record.get("messageAttributes") or {}).get("reason") or {}
    return str(attribute.get("stringValue") or BACKSTOP)


def _task(tasks: Tasks, body: str) -> Task | None:
    """The task that the message was for: only if message and row are of the same submission."""
    try:
        fields = parse_object(body)
    except Refused:
        return None
    task_id, nonce = fields.get("task_id"), fields.get("nonce")
    if not is_task_id(task_id):
        return None
    task = tasks.find(task_id)
    return task if task is not None and task.nonce == nonce else None


def _document(body: str) -> Document | None:
    """The document that the message was for, if it was for one."""
    try:
        return Document.from_body(parse_object(body))
    except Refused:
        return None


class Burial:
    """The consumer of both dead-letter queues; each batch comes from one of them."""

    def __init__(self, app: Bindings) -> None:
        self._dead_letters = DeadLetters(app)
        self._of_documents = app.embed_dead_letters
        self._of_texts = app.score_dead_letters

    def consume(self, event: dict[str, Any], *, deadline: Deadline) -> dict[str, Any]:
        """Buries a batch, and says which of its messages are to come again."""
        consumer = Consumer(queue=self._queue(str(event["Records"][0].get("eventSourceARN"))))
        return consumer.consume(event, self._dead_letters.bury, deadline=deadline)

    def _queue(self, arn: str) -> Queue:
        """An ARN and a URL end with the queue's name."""
        of_documents = arn.rsplit(":", 1)[-1] == self._of_documents.url.rsplit("/", 1)[-1]
        return self._of_documents if of_documents else self._of_texts


def build(app: Bindings) -> Burial:
    """The consumer of the dead-letter queues."""
    return Burial(app)


@functools.cache
def _burial() -> Burial:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    with invocation(entry="queue", context=context):
        deadline = Deadline.after(context.get_remaining_time_in_millis() / 1000)
        return _burial().consume(event, deadline=deadline)
