"""An SQS queue: send, and change when a message is seen again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolane.aws.failures import in_our_words

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_MESSAGE_BYTES = 262_144
"""What every emulator accepts for a message, attributes included; AWS itself takes 1 MiB."""
MAX_DELAY_S = 900


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

    def see_again_in(self, delay_s: int, *, receipt_handle: str) -> None:
        """Makes a message that was received visible again after `delay_s`, counted from now."""
        with in_our_words():
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=delay_s
            )


def _attributes(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"DataType": "String", "StringValue": text} for name, text in texts.items() if text}
