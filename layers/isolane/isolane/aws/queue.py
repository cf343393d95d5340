"""An SQS queue: send one or many, and change when a message is seen again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolane.aws.failures import in_our_words
from isolane.deadline import Deadline
from isolane.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType


_DEPTHS: Sequence[QueueAttributeNameType] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, kw_only=True)
class Depth:
    """How many messages a queue has, as far as SQS knows."""

    visible: int
    in_flight: int
    delayed: int


MOST_IN_A_BATCH = 10
MOST_BYTES = 262_144
"""Of one message, and of all messages of one batch: what every emulator takes."""
_BATCH_TRIES = 3


@dataclass(frozen=True)
class Queue:
    """One queue, by URL. Every method but `send_many` is one call to SQS."""

    client: SQSClient
    url: str

    def send(self, body: str, *, delay_s: int = 0, attributes: Mapping[str, str] | None = None) -> None:
        """Puts a message on the queue, to be seen after `delay_s` (at most 900)."""
        extra: dict[str, Any] = {"DelaySeconds": delay_s} if delay_s else {}
        with in_our_words():
            self.client.send_message(
                QueueUrl=self.url, MessageBody=body, MessageAttributes=_attributes(attributes or {}), **extra
            )

    def send_many(self, bodies: Sequence[str], *, deadline: Deadline, delay_s: int = 0) -> list[int]:
        """Puts messages on the queue, ten at a time; returns the positions of those that it did not take, in order.

        What SQS says it did not take is sent again. What it did not answer about counts as not taken, and may be there
        all the same: whoever gets it must be ready to get it twice.
        """
        return sorted(
            position
            for batch in batches(bodies)
            for position in self._left_out(batch, bodies, deadline=deadline, delay_s=delay_s)
        )

    def _left_out(
        self, batch: Sequence[int], bodies: Sequence[str], *, deadline: Deadline, delay_s: int
    ) -> Sequence[int]:
        for _ in range(_BATCH_TRIES):
            if not batch or deadline.expired:
                break
            try:
                batch = self._send_batch(batch, bodies, delay_s=delay_s)
            except Unavailable:
                break  # the SDK has tried that again already
        return batch

    def _send_batch(self, batch: Sequence[int], bodies: Sequence[str], *, delay_s: int) -> Sequence[int]:
        """The positions in a batch that SQS did not take."""
        entries: Any = [
            {"Id": str(position), "MessageBody": bodies[position], "DelaySeconds": delay_s} for position in batch
        ]
        with in_our_words():
            answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
        taken = {int(entry["Id"]) for entry in answer.get("Successful", ())}
        return [position for position in batch if position not in taken]

    def depth(self) -> Depth:
        """How many messages wait, are being worked on, and are delayed."""
        with in_our_words():
            answer = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=_DEPTHS)
        visible, in_flight, delayed = (int(answer["Attributes"][name]) for name in _DEPTHS)
        return Depth(visible=visible, in_flight=in_flight, delayed=delayed)

    def see_again_in(self, delay_s: int, *, receipt_handle: str) -> None:
        """Makes a message that was received visible again after `delay_s`, counted from now."""
        with in_our_words():
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=delay_s
            )


def batches(bodies: Sequence[str]) -> Iterator[list[int]]:
    """Positions of messages that may go together: ten at the most, and not too many bytes."""
    batch: list[int] = []
    size = 0
    for position, body in enumerate(bodies):
        body_size = len(body.encode())
        if batch and (len(batch) == MOST_IN_A_BATCH or size + body_size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += body_size
    if batch:
        yield batch


def _attributes(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"DataType": "String", "StringValue": text} for name, text in texts.items() if text}
