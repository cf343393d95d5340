"""The SAM CLI of this environment, where it can do no harm: made-up keys, no phoning home, nothing in the user's home.

As a command it passes its arguments on: `python -m tests.environment.sam validate --lint`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.environment.console import Problem
from tests.environment.places import LOCAL, ROOT, harmless

HOME = LOCAL / "sam"
FAR_AWAY = 9_999_999_999.0
"""Seconds since 1970, in another century."""
NOWHERE = "http://localhost:1"
"""The address of AWS for what asks nothing of it."""


def sam(*arguments: str, url: str = NOWHERE) -> None:
    """Run `sam`; it speaks only when it fails, and its words are kept in `.local/sam-….log`."""
    stay_at_home()
    log = LOCAL / f"sam-{arguments[0]}.log"
    with log.open("wb") as sink:
        ended = subprocess.run(
            command(arguments),
            env=surroundings(url),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if ended.returncode != 0:
        raise Problem(f"{log.read_text(errors='replace')}\n`sam {arguments[0]}` failed; the above is in {log}, too.")


def stay_at_home() -> None:
    """Give `sam` a home of its own, in which it finds that it need not ask the internet for a newer version."""
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "metadata.json").write_text(json.dumps({"lastVersionCheck": FAR_AWAY, "telemetryEnabled": False}))


def command(arguments: Sequence[str]) -> list[str]:
    """The command line; started as a module, it needs no PATH and no script that knows where it lies."""
    return [sys.executable, "-m", "samcli", *arguments]


def surroundings(url: str) -> dict[str, str]:
    """The environment for `sam` and for what it starts: this Python builds the layer."""
    return harmless(url=url) | {
        "PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "SAM_CLI_TELEMETRY": "0",
        "__SAM_CLI_APP_DIR": str(HOME),
    }


def main(arguments: Sequence[str]) -> int:
    """Pass the arguments on, and the answer back."""
    stay_at_home()
    return subprocess.run(command(arguments), env=surroundings(NOWHERE), cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
