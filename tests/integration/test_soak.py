"""A small soak on every run: what `make soak` does with thousands of tasks."""

from __future__ import annotations

import sys

import pytest

from tests.environment.deploy import Deployment
from tests.faults.proxy_faults import KINDS
from tests.faults.soak import soak
from tests.faults.soak_plan import Plan
from tests.faults.soak_report import report

PLAN = Plan(
    tasks=60,
    batches=3,
    clients=6,
    # A write that meets a transaction is not tried again by the SDK: its caller does that, and leaves a message without
    # a row behind, which takes a minute to go.
    kinds=tuple(kind for kind in KINDS if kind != "conflict"),
    kill_every_s=(0.5, 1.0),
    most_kills=3,
    limit_s=240,  # on a busy machine; else it takes a tenth of that
)


@pytest.mark.usefixtures("mortal")
def test_sixty_tasks_and_three_batches_survive_failing_calls_and_killed_processes(deployment: Deployment) -> None:
    soaked = soak(deployment, PLAN)
    sys.stdout.write(report(soaked))
    assert soaked.broken == []
    assert len(soaked.books.rows) == PLAN.tasks
    assert len(soaked.books.shelf.there) > 0
    assert soaked.faults["struck"] > 0
    assert soaked.kills.total() > 0
