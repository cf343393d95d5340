"""Schemathesis drives the deployed API from the document that it serves: good data, bad data, and links followed.

No answer is 5xx, and each has the status, the headers and the form that the document gives it. FUZZ=100 asks for that
many examples of each operation; SEED=7 repeats the run that said so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import openapi
from tests.deployed import Deployed
from tests.e2e.client import Client
from tests.environment.deploy import Deployment
from tests.environment.places import ROOT

EXAMPLES = {"localstack": "2"}
"""Of each operation, where they are slow; elsewhere 8."""
PHASES = {"localstack": "examples,fuzzing,stateful"}
"""Not all where coverage cannot be: LocalStack's gateway answers 500 by itself to a form without a boundary."""
SEED = os.environ.get("SEED", "1")
SLOWEST_S = "25"


def test_the_document_is_served_to_everybody(api: Client) -> None:
    answer = Client(base_url=api.base_url, token="nobodys").call("GET", "/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert "no-store" not in answer.headers["cache-control"]
    assert answer.json == json.loads((ROOT / "functions" / "web" / "openapi.json").read_text(encoding="utf-8"))


@pytest.fixture
def drive(deployment: Deployment, stranger: Callable[..., Client], tmp_path: Path) -> Callable[[], Any]:
    """Runs schemathesis as a caller with a token and credits, in a folder of its own; returns its report."""
    name = f"fuzz-{uuid.uuid4().hex[:8]}"
    Deployed(deployment=deployment).ledger.grant(name, amount=1_000_000, grant_id="fuzz")

    def run() -> Any:
        place, examples = (
            deployment.emulator.name,
            os.environ.get("FUZZ") or EXAMPLES.get(deployment.emulator.name, "8"),
        )
        url, token, report = (
            deployment.api_url,
            stranger("user", "reviewer", "admin", name=name).token,
            tmp_path / "report.json",
        )
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--no-color"),
                *("--config-file", str(ROOT / "tests" / "e2e" / "schemathesis.toml")),
                *("run", f"{url}/openapi.json", "--url", url, "--header", f"Authorization: Bearer {token}"),
                *("--seed", SEED, "--max-examples", examples, "--continue-on-failure"),
                *("--phases", PHASES.get(place, "examples,coverage,fuzzing,stateful")),
                *("--max-response-time", SLOWEST_S, "--request-timeout", "30"),
                *("--report", "json", "--report-json-path", str(report)),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nagain: SEED={SEED} FUZZ={examples}"
        return json.loads(report.read_text())

    return run


def test_no_answer_differs_from_the_document(drive: Callable[[], Any], deployment: Deployment) -> None:
    report = drive()
    # All but the one that it reads the document from.
    assert report["operations"]["tested"] == len(openapi.operations()) - 1
    assert {phase["status"] for phase in report["phases"].values() if phase["status"] != "skip"} == {"success"}
    assert report["test_cases"]["generated"] > (50 if deployment.emulator.name in PHASES else 200)
