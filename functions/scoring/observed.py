"""What is counted and timed of scoring: submitted, completed, in review, the wait in the queue and the run.

What failed is counted by `isolane.tasks`: not only a worker fails a task.
"""

from __future__ import annotations

from isolane.observability import count, duration, logger
from isolane.submissions import Submitted
from isolane.task import Status, Task


def submitted(made: Submitted) -> None:
    if not made.replayed:
        count("submitted")
    logger().info(
        "submitted", extra={"task_id": made.task.task_id, "replayed": made.replayed, "cached": made.task.cached}
    )


def started(task: Task, *, now_ms: int) -> None:
    if task.attempt == 1:
        duration("queue_wait", milliseconds=max(0, now_ms - task.created_at_ms))


def ended(task: Task, *, run_ms: float) -> None:
    duration("run_time", milliseconds=run_ms)
    if task.status is Status.COMPLETED:
        count("completed")
    if task.status is Status.IN_REVIEW:
        count("in_review")
    logger().info("ended", extra={"status": str(task.status), "attempt": task.attempt, "run_ms": round(run_ms)})
