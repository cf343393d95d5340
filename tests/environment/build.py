"""`sam build`, and the template for the emulator in use."""

from collections.abc import Mapping
from pathlib import Path

from tests.environment.adapt import TARGETS, adapt
from tests.environment.console import Problem
from tests.environment.places import BUILT, ROOT
from tests.environment.sam import sam


def build(*, target: str, parameters: Mapping[str, str]) -> Path:
    """Build with SAM, adapt the outcome to the emulator, and return the template to deploy."""
    if target not in TARGETS:
        raise Problem(f"There is no way to deploy to {target}; to these there is: {', '.join(sorted(TARGETS))}.")
    sam("build", "--config-file", str(ROOT / "samconfig.toml"))
    return adapt(BUILT, target=target, parameters=parameters)
