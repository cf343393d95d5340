"""The sweeper on the deployed stack: its schedule finds what is overdue, by the index, though nobody reads it."""

from __future__ import annotations

import uuid

import pytest

from isolane.task import UNREVIEWED_S, Claimed, Problem, Status
from isolane.tasks import Tasks
from tests.deployed import Deployed
from tests.environment.deploy import Deployment
from tests.waiting import wait_until


@pytest.fixture
def deployed(deployment: Deployment) -> Deployed:
    return Deployed(deployment=deployment)


def test_a_review_that_nobody_did_is_failed_within_the_minute(deployed: Deployed) -> None:
    tasks = deployed.tasks
    a_fortnight_ago = Tasks(tasks.table, tasks.ledger, lambda: tasks.clock() - UNREVIEWED_S)
    new = a_fortnight_ago.add(
        a_fortnight_ago.new(task_id=uuid.uuid4().hex, kind="score", owner="ann", fingerprint="f" * 64)
    )
    claim = a_fortnight_ago.claim(new.task_id, nonce=new.nonce, until_ms=tasks.now_ms(), max_attempts=1)
    assert isinstance(claim, Claimed)
    a_fortnight_ago.review(claim.task, reason=Problem(code="odd", message="Odd."), provisional=None)

    def failed() -> bool:
        found = tasks.find(new.task_id)
        return found is not None and found.status is Status.FAILED and found.due is None

    wait_until(failed, timeout_s=130, description="the sweeper has failed it")
