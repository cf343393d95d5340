"""Make `.venv` from requirements.lock, with the standard library alone.

uv installs in seconds what takes pip two minutes, so that it comes first, itself pinned by the lock. Where it cannot
(a platform without it, an index that only pip knows of), pip does it all. The lock is complete and hashes are checked
either way. The environment's copy of the lock is written last, so that what an interruption leaves is made again.
"""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

from tests.environment.console import Problem, run, say

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP = ("-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes")
UV = ("-m", "uv", "pip", "install", "--no-deps", "--require-hashes")


def install() -> None:
    """Make the environment anew."""
    say("Installing what requirements.lock pins into .venv …")
    stop_what_runs()
    shutil.rmtree(VENV, ignore_errors=True)
    venv.create(VENV, with_pip=True)
    if not (with_uv() or with_pip()):
        raise Problem("The installation failed, as pip says above; the same command again starts it afresh.")
    shutil.copyfile(LOCK, VENV / "installed.lock")


def stop_what_runs() -> None:
    """An emulator started from the old environment would go on with half of its files."""
    if PYTHON.exists():
        subprocess.run([PYTHON, "-m", "tests.environment.down"], cwd=ROOT, capture_output=True, check=False)


def with_uv() -> bool:
    """Install by uv; return whether that worked."""
    pinned = VENV / "uv.lock"
    pinned.write_text(only("uv", lock=LOCK.read_text()))
    fetched = _try([PYTHON, *PIP, "--only-binary", ":all:", "-r", pinned], quiet=True)
    return fetched and _try([PYTHON, *UV, "--python", PYTHON, "-r", LOCK], quiet=True)


def with_pip() -> bool:
    """Install by pip; return whether that worked."""
    say("uv cannot do it here; pip takes a few minutes …")
    return _try([PYTHON, *PIP, "--no-compile", "-r", LOCK], quiet=False)


def only(name: str, *, lock: str) -> str:
    """One package's lines of a lock file: its pin, and its hashes on the lines that continue it."""
    found = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*\n", lock, re.MULTILINE)
    if found is None:
        raise Problem(f"requirements.lock does not pin {name}.")
    return found[0]


def _try(command: list[str | Path], *, quiet: bool) -> bool:
    """Run a command; return whether it ended well. uv gives up early, for pip comes after it, and asks pip's index."""
    index = os.environ.get("PIP_INDEX_URL")
    patience = {"UV_HTTP_TIMEOUT": "20", "UV_HTTP_RETRIES": "1", "UV_NO_PROGRESS": "1"}
    surroundings = {**os.environ, **patience, **({"UV_DEFAULT_INDEX": index} if index else {})}
    ended = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=quiet, check=False)
    return ended.returncode == 0


if __name__ == "__main__":
    raise SystemExit(run(install))
