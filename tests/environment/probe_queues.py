"""Whether a queue keeps its times."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from mypy_boto3_sqs import SQSClient
from mypy_boto3_sqs.type_defs import MessageTypeDef

from tests.environment import clients
from tests.waiting import wait_until

DELAY_S = 1


@contextmanager
def scratch_queue(url: str, **attributes: str) -> Iterator[tuple[SQSClient, str]]:
    """A queue for one probe."""
    client = clients.sqs(url)
    queue = client.create_queue(
        QueueName=f"probe-{uuid4().hex[:8]}",
        Attributes=attributes,  # type: ignore[arg-type]  # the stubs want literal names
    )["QueueUrl"]
    try:
        yield client, queue
    finally:
        client.delete_queue(QueueUrl=queue)


def received(client: SQSClient, *, queue: str) -> list[MessageTypeDef]:
    """What the queue gives out now; nobody deletes it."""
    return client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])


def delay(url: str) -> str:
    """A message sent with a delay comes after it, and not before."""
    with scratch_queue(url) as (client, queue):
        sent_s = time.monotonic()
        client.send_message(QueueUrl=queue, MessageBody="later", DelaySeconds=DELAY_S)
        assert not received(client, queue=queue), "a delayed message came at once"
        wait_until(lambda: received(client, queue=queue), description="the delayed message comes")
        took_s = time.monotonic() - sent_s
    # Servers count from a whole second or from the sending, so that a part of it may be missing.
    assert took_s > DELAY_S / 2, f"a message delayed by {DELAY_S} s came after {took_s:.1f} s"
    return f"a message delayed by {DELAY_S} s came after {took_s:.1f} s"


def visibility(url: str) -> str:
    """A received message stays hidden; given back with a visibility of 0 it comes again, counted."""
    with scratch_queue(url, VisibilityTimeout="30") as (client, queue):
        client.send_message(QueueUrl=queue, MessageBody="again")
        first = received(client, queue=queue)[0]
        assert not received(client, queue=queue), "a message in flight was given out again"
        client.change_message_visibility(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
        wait_until(lambda: received(client, queue=queue), description="the message given back comes again")
    return "a message in flight stays hidden, and comes again when it is given back"
