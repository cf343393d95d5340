"""The deployed stack, as CloudFormation tells it: whether it stands, what it holds, how to be rid of a broken one."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import ClientError

from tests.environment import clients
from tests.environment.places import LOCAL, STACK_NAME
from tests.waiting import WaitedTooLong, wait_until

SETTLE_TIMEOUT_S = 90
STANDING = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"}
FORGOTTEN = {"DELETE_COMPLETE"}


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack that stands, or did: its status, what it says of itself, and a mark that changes with each deployment."""

    status: str
    mark: str
    outputs: dict[str, str]

    @property
    def stands(self) -> bool:
        """Whether it can be used, and deployed over."""
        return self.status in STANDING

    @property
    def moves(self) -> bool:
        """Whether the emulator is still at work on it; a stack in review waits for an order that may never come."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"


def find(url: str, *, name: str = STACK_NAME) -> Stack | None:
    """The stack as it is now; None if there is none."""
    try:
        shown = clients.cloudformation(url).describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    if shown["StackStatus"] in FORGOTTEN:
        return None
    changed = shown.get("LastUpdatedTime", shown["CreationTime"])
    return Stack(
        status=shown["StackStatus"],
        mark=f"{shown['StackId']} {changed.isoformat()}",
        outputs={output["OutputKey"]: output["OutputValue"] for output in shown.get("Outputs", [])},
    )


def noted(*, local: Path = LOCAL) -> str:
    """What the last complete deployment from this checkout wrote down: what it was made from, and the stack's mark."""
    try:
        return (local / "deployed").read_text()
    except OSError:
        return ""


def settled(url: str) -> Stack | None:
    """The stack once nothing moves in it any more, or as it is when that takes too long."""

    def still() -> bool:
        now = find(url)
        return now is None or not now.moves

    with contextlib.suppress(WaitedTooLong):
        wait_until(still, description="the stack has settled", timeout_s=SETTLE_TIMEOUT_S)
    return find(url)


def clear_away_broken(url: str) -> bool:
    """Delete a stack that an interruption or a failure left half made; return whether there was one."""
    stack = settled(url)
    if stack is None or stack.stands:
        return False
    delete(url)
    return True


def delete(url: str, *, name: str = STACK_NAME) -> None:
    """Delete the stack and wait until it is gone; its bucket is emptied first, for a full one would stay."""
    _empty_buckets(url, name=name)
    clients.cloudformation(url).delete_stack(StackName=name)
    wait_until(lambda: find(url, name=name) is None, description="the stack is gone", timeout_s=SETTLE_TIMEOUT_S)


def _empty_buckets(url: str, *, name: str) -> None:
    """Delete each object in the stack's buckets."""
    s3 = clients.s3(url)
    for bucket in physical_names(url, kind="AWS::S3::Bucket", name=name).values():
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for found in page.get("Contents", []):
                s3.delete_object(Bucket=bucket, Key=found["Key"])


def physical_names(url: str, *, kind: str, name: str = STACK_NAME) -> dict[str, str]:
    """The stack's resources of one type: logical name to physical one."""
    pages = clients.cloudformation(url).get_paginator("list_stack_resources").paginate(StackName=name)
    return {
        found["LogicalResourceId"]: found["PhysicalResourceId"]
        for page in pages
        for found in page["StackResourceSummaries"]
        if found["ResourceType"] == kind and found.get("PhysicalResourceId")
    }
