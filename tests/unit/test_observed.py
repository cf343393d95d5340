"""What is counted of scoring: every way in which a worker may leave a task; a failed one has been counted before."""

from __future__ import annotations

import pytest

from isolane.observability import metrics
from isolane.task import Status, Task
from scoring.observed import ended


def task(status: Status) -> Task:
    return Task(
        task_id="a" * 32,
        kind="score",
        owner="ann",
        nonce="n",
        fingerprint="f" * 64,
        created_at_ms=0,
        deadline_ms=1,
        ttl=2,
        status=status,
    )


@pytest.mark.parametrize(
    ("status", "counted"),
    [
        (Status.COMPLETED, {"completed"}),
        (Status.FAILED, set()),
        (Status.IN_REVIEW, {"in_review"}),
        (Status.PENDING, set()),
    ],
)
def test_each_end_is_counted_by_its_name(status: Status, counted: set[str]) -> None:
    metrics().clear_metrics()
    ended(task(status), run_ms=3)
    assert set(metrics().metric_set) - {"run_time"} == counted
