"""`sam build`, and the template for the emulator in use: `make build TARGET=localstack`."""

import os
from collections.abc import Mapping
from pathlib import Path

from tests.environment.adapt import TARGETS, adapt
from tests.environment.console import Problem, run, say
from tests.environment.places import BUILT, ROOT, overrides
from tests.environment.sam import sam


def build(*, target: str, parameters: Mapping[str, str]) -> Path:
    """Build with SAM, adapt the outcome to the emulator, and return the template to deploy."""
    if target not in TARGETS:
        raise Problem(f"There is no way to deploy to {target}; to these there is: {', '.join(sorted(TARGETS))}.")
    sam("build", "--config-file", str(ROOT / "samconfig.toml"))
    return adapt(BUILT, target=target, parameters=parameters)


def main() -> None:
    """Build for the emulator that TARGET names, and say where the template is."""
    target = os.environ.get("TARGET") or "ministack"
    say(str(build(target=target, parameters=overrides(target))))


if __name__ == "__main__":
    raise SystemExit(run(main))
