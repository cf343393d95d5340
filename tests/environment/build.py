"""`sam build`, and the template for the emulator in use; and how `sam` is run here."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.environment.adapt import TARGETS, adapt
from tests.environment.console import Problem
from tests.environment.places import BUILT, LOCAL, ROOT, harmless

NOWHERE = "http://localhost:1"


def build(*, target: str, parameters: Mapping[str, str]) -> Path:
    """Build with SAM, adapt the outcome to the emulator, and return the template to deploy."""
    if target not in TARGETS:
        raise Problem(f"There is no way to deploy to {target}; to these there is: {', '.join(sorted(TARGETS))}.")
    # A build asks nothing of AWS, so that it gets no address of one.
    sam("build", "--config-file", str(ROOT / "samconfig.toml"), url=NOWHERE)
    return adapt(BUILT, target=target, parameters=parameters)


def sam(*arguments: str, url: str) -> None:
    """Run the SAM CLI of this environment; it speaks only when it fails."""
    LOCAL.mkdir(exist_ok=True)
    log = LOCAL / f"sam-{arguments[0]}.log"
    with log.open("wb") as sink:
        ended = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments],
            env=surroundings(url),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if ended.returncode != 0:
        raise Problem(f"{log.read_text(errors='replace')}\n`sam {arguments[0]}` failed; the above is in {log}, too.")


def surroundings(url: str) -> dict[str, str]:
    """SAM's environment: this Python builds the layer, and nothing is phoned home or kept in the user's home."""
    return harmless(url=url) | {
        "PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "SAM_CLI_TELEMETRY": "0",
        "__SAM_CLI_APP_DIR": str(LOCAL / "sam"),
    }
