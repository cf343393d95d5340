"""What a cold start costs beside boto3 itself: a handler imported with its clients made, against just those clients.

Both run in processes of their own, in turn, so that a machine that slows down slows both. Quoted is the ratio of the
medians; the goal is at most 1.25.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOAL = 1.25
RUNS = int(os.environ.get("RUNS", "11"))

BARE = """
import boto3
for service in {services!r}:
    boto3.client(service)
"""
OURS = """
from {module} import {make}
from isolane.bindings import Bindings
{make}(Bindings.from_env())
"""
CASES = {
    "scoring.api": (["dynamodb", "sqs"], OURS.format(module="scoring.api", make="build")),
    "scoring.worker": (["dynamodb", "sqs"], OURS.format(module="scoring.worker", make="build")),
    "reservations.api": (["dynamodb"], OURS.format(module="reservations.api", make="build")),
    "objects.api": (["dynamodb"], OURS.format(module="objects.api", make="build")),
    "embeddings.api": (["dynamodb", "sqs"], OURS.format(module="embeddings.api", make="build")),
    "embeddings.worker": (["dynamodb", "sqs"], OURS.format(module="embeddings.worker", make="build")),
    "images.api": (["dynamodb"], OURS.format(module="images.api", make="build")),
    "images.sweeper": (["dynamodb"], OURS.format(module="images.sweeper", make="build")),
    "operations.api": (["dynamodb"], OURS.format(module="operations.api", make="build")),
    "operations.dead_letters": (["dynamodb", "sqs"], OURS.format(module="operations.dead_letters", make="build")),
}


def environment() -> dict[str, str]:
    needed = "TASKS_TABLE STATE_TABLE VALUES_TABLE BUCKET SCORE_QUEUE_URL SCORE_DEAD_LETTER_QUEUE_URL"
    return {
        **os.environ,
        **dict.fromkeys(needed.split(), "x"),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "POWERTOOLS_SERVICE_NAME": "isolane",
        "POWERTOOLS_METRICS_NAMESPACE": "isolane",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "layers" / "isolane"), str(ROOT / "functions")]),
    }


def timed_s(code: str) -> float:
    started_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(), timeout=120)
    return time.perf_counter() - started_s


def compare(services: list[str], ours: str) -> tuple[float, float]:
    """The medians of the bare clients and of ours, in seconds, less what starting Python costs."""
    bare_code = BARE.format(services=services)
    timed_s(ours), timed_s(bare_code)  # once each to warm the disk
    pairs = [(timed_s(bare_code), timed_s(ours), timed_s("pass")) for _ in range(RUNS)]
    bare_s, ours_s, nothing_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    return bare_s - nothing_s, ours_s - nothing_s


def main() -> int:
    worst = 0.0
    sys.stdout.write(f"cold start, median of {RUNS}\n{'function':<26}{'boto3 alone':>12}{'ours':>10}{'ratio':>8}\n")
    for name, (services, ours) in CASES.items():
        bare_s, ours_s = compare(services, ours)
        worst = max(worst, ours_s / bare_s)
        sys.stdout.write(f"{name:<26}{bare_s:>10.3f} s{ours_s:>8.3f} s{ours_s / bare_s:>8.2f}\n")
    sys.stdout.write(f"goal: at most {GOAL}\n")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
