"""Whether a queue's function is served as on AWS: only what failed comes again, and batches run side by side."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

from tests.environment import clients, emulator
from tests.environment.probe_queues import received, scratch_queue
from tests.waiting import wait_until

BUSY_S = 1.5
BATCHES = 4
TIMEOUT_S = 5
PATIENCE_S = 30

HANDLER = """
import json, os, time, boto3

def handler(event, context):
    began = time.time()
    sqs = boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    failed = []
    for record in event["Records"]:
        text = record["body"]
        count = int(record["attributes"]["ApproximateReceiveCount"])
        if text.startswith("busy"):
            time.sleep(float(os.environ["BUSY_S"]))
        told = {"text": text, "count": count, "began": began, "ended": time.time()}
        sqs.send_message(QueueUrl=os.environ["TOLD"], MessageBody=json.dumps(told))
        if text.startswith("fails once") and count == 1:
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
"""


def partial_failures(url: str) -> str:
    """Of a batch with one failure, that one message comes again and the others do not."""
    told = _told(url, texts=["good", "fails once"], batch_size=10, tellings=3)
    seen = [f"{each['text']}, received {each['count']} times" for each in told]
    again = [each["text"] for each in told if each["count"] > 1]
    assert again == ["fails once"], f"the function got: {'; '.join(seen)}"
    return "the message that failed comes again, the good one beside it does not"


def parallel(url: str) -> str:
    """Batches of one queue run at the same time."""
    texts = [f"busy {number}" for number in range(BATCHES)]
    told = _told(url, texts=texts, batch_size=1, tellings=BATCHES)
    together = max(sum(1 for each in told if each["began"] <= at["began"] < each["ended"]) for at in told)
    assert together > 1, f"{BATCHES} batches came one after another"
    return f"{together} of {BATCHES} batches at work at once"


def _told(url: str, *, texts: list[str], batch_size: int, tellings: int) -> list[dict[str, Any]]:
    """What a function tells of the messages that it got."""
    heard: list[dict[str, Any]] = []
    with ExitStack() as made:
        sqs, told = made.enter_context(scratch_queue(url))
        _, work = made.enter_context(scratch_queue(url, VisibilityTimeout=str(TIMEOUT_S + 1)))
        role = made.enter_context(_role(url))
        made.enter_context(_function(url, role=role, work=work, told=told, batch_size=batch_size))
        sqs.send_message_batch(
            QueueUrl=work,
            Entries=[{"Id": str(number), "MessageBody": text} for number, text in enumerate(texts)],
        )

        def all_told() -> bool:
            heard.extend(json.loads(message["Body"]) for message in received(sqs, queue=told))
            return len(heard) >= tellings

        wait_until(all_told, description=f"the function has told of {tellings} messages", timeout_s=PATIENCE_S)
    return heard


@contextmanager
def _role(url: str) -> Iterator[str]:
    """A role that may use queues, for emulators that look at roles."""
    client, name = clients.iam(url), f"probe-{uuid4().hex[:8]}"
    trusted = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    allowed = {"Effect": "Allow", "Action": ["sqs:*", "logs:*"], "Resource": "*"}
    role = client.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(trusted))["Role"]["Arn"]
    client.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=_policy(allowed))
    try:
        yield role
    finally:
        client.delete_role_policy(RoleName=name, PolicyName=name)
        client.delete_role(RoleName=name)


def _policy(statement: dict[str, Any]) -> str:
    """A policy of one statement."""
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@contextmanager
def _function(url: str, *, role: str, work: str, told: str, batch_size: int) -> Iterator[None]:
    """A function that is served from the one queue, and tells what it saw in the other."""
    lambda_, sqs = clients.functions(url), clients.sqs(url)
    name = f"probe-{uuid4().hex[:8]}"
    lambda_.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=role,
        Handler="probe.handler",
        Timeout=TIMEOUT_S,
        Code={"ZipFile": _zipped(HANDLER)},
        Environment={"Variables": {"AWS_ENDPOINT_URL": _seen_by_functions(url), "TOLD": told, "BUSY_S": str(BUSY_S)}},
    )
    lambda_.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})
    arn = sqs.get_queue_attributes(QueueUrl=work, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    mapping = lambda_.create_event_source_mapping(
        FunctionName=name,
        EventSourceArn=arn,
        BatchSize=batch_size,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 5},
    )["UUID"]
    try:
        yield
    finally:
        lambda_.delete_event_source_mapping(UUID=mapping)
        lambda_.delete_function(FunctionName=name)


def _seen_by_functions(url: str) -> str:
    found = emulator.find(url)
    assert found is not None, f"nothing answers at {url} any more"
    return found.seen_by_functions(url)


def _zipped(source: str) -> bytes:
    """The source as the archive that Lambda takes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("probe.py", source)
    return archive.getvalue()
