"""SQS batches the Workers way: each message is acknowledged, retried or dead-lettered on its own.

A handler gets one message at a time and says `ack()`, `retry(delay_seconds=)` or `dead_letter(reason)`; the first call
wins, and saying nothing acknowledges. An exception retries that message alone. A message that is not a JSON object goes
to the dead-letter queue at once. Nothing is started that cannot finish in the time left. Where several messages are one
call to somebody else, a handler gets them all at once (`consume_together`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isolane import backoff
from isolane.aws.queue import Queue
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, InvalidJson, InvalidRequest, IsolaneError, TooLarge
from isolane.json_edge import parse_object
from isolane.observability import about, logger
from isolane.pool import Pool

_MAX_BODY_BYTES = 1_048_576
_NOT_STARTED_S = 1
"""How soon a message is seen again that this invocation had no time for."""


class Outcome(Enum):
    ACKNOWLEDGED = "acknowledged"
    RETRIED = "retried"
    DEAD_LETTERED = "dead_lettered"


@dataclass(kw_only=True)
class Message:
    """One message being handled."""

    record: Mapping[str, Any]
    queue: Queue
    dead_letters: Queue | None
    clock: Callable[[], float] = time.time
    outcome: Outcome | None = None

    @property
    def message_id(self) -> str:
        return str(self.record["messageId"])

    @property
    def body(self) -> dict[str, Any]:
        """The body, a JSON object. Raises InvalidJson, InvalidRequest or TooLarge."""
        return parse_object(self.record["body"], max_bytes=_MAX_BODY_BYTES)

    @property
    def age_s(self) -> float:
        """Seconds since it was sent; 0 where the record does not say."""
        sent_ms = self.record.get("attributes", {}).get("SentTimestamp")
        return max(0.0, self.clock() - int(sent_ms) / 1000) if sent_ms is not None else 0.0

    def ack(self) -> None:
        """It is done: never deliver it again."""
        self._settle(Outcome.ACKNOWLEDGED)

    def retry(self, *, delay_seconds: float | None = None) -> None:
        """Deliver it again after the delay; without one, after a while that grows with its age."""
        if self._settle(Outcome.RETRIED):
            delay = backoff.after_waiting(self.age_s) if delay_seconds is None else delay_seconds
            self.queue.see_again_in(max(0, round(delay)), receipt_handle=self.record["receiptHandle"])

    def dead_letter(self, reason: str) -> None:
        """It can never succeed: put it aside with the reason, and never deliver it again."""
        if self.dead_letters is None:
            raise ConfigurationError("This consumer has no dead-letter queue.")
        if self._may_settle():
            self.dead_letters.send(self.record["body"], attributes={"reason": reason, "messageId": self.message_id})
            self._settle(Outcome.DEAD_LETTERED)

    def _may_settle(self) -> bool:
        return self.outcome is None

    def _settle(self, outcome: Outcome) -> bool:
        first = self._may_settle()
        if first:
            self.outcome = outcome
        return first


Handle = Callable[[Message], None]
HandleTogether = Callable[[Sequence[Message]], None]


@dataclass(frozen=True, kw_only=True)
class Consumer:
    """How one queue is consumed."""

    queue: Queue
    dead_letters: Queue | None = None
    """Where messages go that can never succeed. None: this is such a queue itself; all are handled as they are."""
    pool_size: int = 1
    needs_s: float = 0.0
    """A message is started only while the invocation has this long left."""
    clock: Callable[[], float] = field(default=time.time)

    def consume(self, event: Mapping[str, Any], handle: Handle, *, deadline: Deadline) -> dict[str, Any]:
        """Handles a batch and says which messages are to be delivered again, in the form that Lambda reads."""
        outcomes = Pool(self.pool_size).map(
            lambda record: (record["messageId"], self._guarded(record, handle, deadline=deadline)), event["Records"]
        )
        return _answer(outcomes)

    def consume_together(
        self, event: Mapping[str, Any], handle: HandleTogether, *, deadline: Deadline
    ) -> dict[str, Any]:
        """The same for a handler that gets all readable messages of the batch at once.

        Here a message of which it says nothing is delivered again: it has been forgotten.
        """
        messages = [self._message(record) for record in event["Records"]]
        ready = []
        for message in messages:
            with guarded(message):
                if self._readable(message, deadline=deadline):
                    ready.append(message)
        with guarded(*ready):
            handle(ready)
        return _answer((message.message_id, message.outcome or Outcome.RETRIED) for message in messages)

    def _guarded(self, record: Mapping[str, Any], handle: Handle, *, deadline: Deadline) -> Outcome:
        message = self._message(record)
        with about(message_id=message.message_id), guarded(message):
            if self._readable(message, deadline=deadline):
                handle(message)
        return message.outcome or Outcome.ACKNOWLEDGED

    def _message(self, record: Mapping[str, Any]) -> Message:
        return Message(record=record, queue=self.queue, dead_letters=self.dead_letters, clock=self.clock)

    def _readable(self, message: Message, *, deadline: Deadline) -> bool:
        """Whether a handler may have it now; where not, it is settled."""
        if deadline.left_s() < self.needs_s:
            message.retry(delay_seconds=_NOT_STARTED_S)
        elif self.dead_letters is not None and (problem := _unreadable(message)) is not None:
            message.dead_letter(problem)
        return message.outcome is None


@contextmanager
def guarded(*messages: Message) -> Iterator[None]:
    """A block about some messages: what goes wrong in it has those retried that are not settled, and no others."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one message's surprise must not touch its neighbours
        for message in messages:
            _surprised(message, error)


def _answer(outcomes: Iterable[tuple[str, Outcome]]) -> dict[str, Any]:
    again = [message_id for message_id, outcome in outcomes if outcome is Outcome.RETRIED]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in again]}


def _unreadable(message: Message) -> str | None:
    try:
        _ = message.body
    except (InvalidJson, InvalidRequest, TooLarge) as refusal:
        return refusal.code
    return None


def _task_id(message: Message) -> Any:
    """The task that the message names, if it names one."""
    try:
        return message.body.get("task_id")
    except (InvalidJson, InvalidRequest, TooLarge):
        return None


def _surprised(message: Message, error: Exception) -> None:
    """Retries the message; where even that cannot be said to SQS, its visibility timeout says it."""
    expected = isinstance(error, IsolaneError)
    about_what = {"error": type(error).__name__, "task_id": _task_id(message)}
    logger().warning("message failed", extra=about_what, exc_info=not expected)
    try:
        message.retry()
    except Exception:  # noqa: BLE001 - SQS may know the message no more: that is this message's trouble, too
        message.outcome = Outcome.RETRIED
