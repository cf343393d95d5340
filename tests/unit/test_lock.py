"""The lock files: every pin with its hashes, complete, and nobody's address in them."""

import re
from pathlib import Path

import pytest

from tests.environment.places import ROOT

LOCKS = [ROOT / "requirements.lock", ROOT / "layers/isolane/requirements.lock"]
PIN = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)(?: ; [^\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n",
    re.MULTILINE,
)

each_lock = pytest.mark.parametrize("lock", LOCKS, ids=["tools", "layer"])


def asked_for(lock: Path) -> set[str]:
    """The packages that the file beside the lock asks for."""
    name = "requirements-dev.in" if lock.parent == ROOT else "requirements.in"
    lines = (line.split("#")[0].strip() for line in (lock.parent / name).read_text().splitlines())
    return {re.split(r"[<>=\[ ]", line)[0] for line in lines if line and not line.startswith("-r")}


@each_lock
def test_a_lock_is_pins_with_hashes_and_nothing_else(lock: Path) -> None:
    assert PIN.sub("", lock.read_text()) == ""


@each_lock
def test_a_lock_pins_what_is_asked_for(lock: Path) -> None:
    assert asked_for(lock) <= {pin["name"] for pin in PIN.finditer(lock.read_text())}


def test_the_layer_carries_the_versions_that_are_tested() -> None:
    tools, layer = ({pin["name"]: pin["version"] for pin in PIN.finditer(lock.read_text())} for lock in LOCKS)
    assert layer.items() <= tools.items()


def test_the_layer_carries_nothing_that_the_runtime_brings_or_that_is_compiled() -> None:
    names = {pin["name"] for pin in PIN.finditer(LOCKS[1].read_text())}
    assert not names & {"boto3", "botocore", "pydantic", "pydantic-core", "numpy"}
