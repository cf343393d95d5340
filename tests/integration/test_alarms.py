"""Alarms on the deployed stack: what no message was ever sent for is found by the sweeper on its schedule."""

from __future__ import annotations

import time
import uuid

from isolane.objects import Objects
from objects.room import Room
from tests.deployed import Deployed
from tests.environment.deploy import Deployment
from tests.waiting import wait_until

HEALED_S = 120


def test_a_crash_between_commit_and_message_is_healed_within_two_minutes(deployment: Deployment) -> None:
    stack, name = Deployed(deployment=deployment), uuid.uuid4().hex[:12]
    objects = Objects(stack.state, stack.values.table)  # which sends no message, like one that died before it
    due_s = time.time() + 2
    objects.get(Room, f"room:{name}").close_at(int(due_s * 1000))
    wait_until(
        lambda: "closed" in stack.api.call("GET", f"/rooms/{name}").json,
        description="the room is closed",
        timeout_s=HEALED_S,
    )
    assert due_s <= time.time() <= due_s + HEALED_S
