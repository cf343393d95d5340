"""An SQS queue: send, and change when a message is seen again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolane.aws.failures import in_our_words

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


@dataclass(frozen=True)
class Queue:
    """One queue, by URL. Every method is one call to SQS."""

    client: SQSClient
    url: str

    def send(self, body: str, *, delay_s: int = 0, attributes: Mapping[str, str] | None = None) -> None:
        """Puts a message on the queue, to be seen after `delay_s` (at most 900)."""
        extra: dict[str, Any] = {"DelaySeconds": delay_s} if delay_s else {}
        with in_our_words():
            self.client.send_message(
                QueueUrl=self.url, MessageBody=body, MessageAttributes=_attributes(attributes or {}), **extra
            )

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


def _attributes(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"DataType": "String", "StringValue": text} for name, text in texts.items() if text}
