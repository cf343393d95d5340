"""What the README tells people to type works: local commands are run, those for a real account are parsed."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.e2e.client import Client
from tests.environment.places import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh(?: (\w+))?\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LOCAL = [text for kind, text in BLOCKS if not kind]
DOCKER = [text for kind, text in BLOCKS if kind == "docker"]
AWS = [text for kind, text in BLOCKS if kind == "aws"]
RUN_ELSEWHERE = {"make test"}
"""It is what runs this test."""


def run(script: str) -> str:
    """What the commands print; each of them must succeed."""
    surroundings = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_blocks_of_both_kinds() -> None:
    assert len(LOCAL) >= 3
    assert AWS


@pytest.mark.parametrize("block", LOCAL)
def test_what_it_says_to_type_works(api: Client, block: str) -> None:
    lines = [line for line in block.splitlines() if line not in RUN_ELSEWHERE]
    answers = run("\n".join(lines))
    assert '"error":"' not in answers.replace('"error":"task_finished"', ""), answers


@pytest.mark.parametrize("line", [line for block in LOCAL for line in block.splitlines() if " -d '" in line])
def test_a_body_that_it_sends_says_that_it_is_json(line: str) -> None:
    """To curl it would be a form, and a gateway may read it as one: LocalStack's does."""
    assert re.search(r"-H (\"\$JSON\"|'content-type: application/json') .*-d '", line)


TARGETS = sorted(set(re.findall(r"(?:`|^)make ([a-z-]+)\b", README, re.MULTILINE)))


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_it_names_is_there(target: str) -> None:
    run(f"make --dry-run {target}")


@pytest.mark.parametrize("block", DOCKER)
def test_commands_that_need_docker_can_be_read(block: str) -> None:
    subprocess.run(["bash", "-n", "-c", block], check=True, timeout=10)


@pytest.mark.parametrize("event", sorted(set(re.findall(r"EVENT=([\w.-]+\w)|events/([\w.-]+)\.json", README))))
def test_every_event_it_names_is_there(event: tuple[str, str]) -> None:
    assert (ROOT / "events" / f"{event[0] or event[1]}.json").exists()


@pytest.mark.parametrize("block", AWS)
def test_commands_for_a_real_account_can_be_read(block: str) -> None:
    subprocess.run(["bash", "-n", "-c", block], check=True, timeout=10)
    assert all(line.split()[0] in {"sam", "aws"} for line in block.splitlines() if line)


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`(isolane\.\w+)`", README))))
def test_every_module_it_names_is_there(module: str) -> None:
    assert (ROOT / "layers" / "isolane" / f"{module.replace('.', '/')}.py").exists()


PARAMETERS = sorted(
    set(
        re.findall(
            r"\b((?:Score|Max|OpenAi|Bedrock|Scorer|Model|Review|Api|Posts|Image|Embed|Public|Vector)[A-Z]\w+)`", README
        )
    )
)


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_every_parameter_it_names_is_there(parameter: str) -> None:
    template = (ROOT / "template.yaml").read_text()
    assert re.search(rf"^  {parameter}:$", template, re.MULTILINE)
