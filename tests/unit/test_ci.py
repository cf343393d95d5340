"""What the users' CI runs is what .ci/run runs, and what LocalStack is pinned to is one version."""

import re
from typing import Any

import pytest
import yaml

from tests.environment.places import ROOT

WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
JOBS: dict[str, Any] = WORKFLOW["jobs"]
SCRIPT = (ROOT / ".ci" / "run").read_text()


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


@pytest.mark.parametrize("job", JOBS)
def test_a_job_runs_make_targets_that_ci_run_runs_too(job: str) -> None:
    assert commands(job)
    for command in commands(job):
        assert re.fullmatch(r"make [a-z-]+", command)
        assert re.search(rf"^(?:  )?(?:timed |also )?{command}$", SCRIPT, re.MULTILINE)


def test_together_the_jobs_run_all_that_ci_run_runs() -> None:
    theirs = {command for job in JOBS for command in commands(job)}
    assert theirs == set(re.findall(r"^(?:  )?(?:timed |also )?(make [a-z-]+)$", SCRIPT, re.MULTILINE))


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_and_keeps_its_logs(job: str) -> None:
    assert JOBS[job]["timeout-minutes"] <= 40
    kept = [step for step in JOBS[job]["steps"] if step.get("uses", "").startswith("actions/upload-artifact")]
    assert bool(kept) == (job != "check")
    assert all(step["if"] == "${{ always() }}" for step in kept)


def test_localstack_is_pinned() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["localstack"]
    assert re.fullmatch(r"\$\{LOCALSTACK_IMAGE:-localstack/localstack:\d+\.\d+\.\d+\}", service["image"])
