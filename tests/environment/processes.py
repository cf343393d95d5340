"""The processes in which an emulator runs functions, found by their environment; /proc has it, so only on Linux."""

import os
import signal
import sys
from pathlib import Path

PROC = Path("/proc")
VISIBLE = sys.platform.startswith("linux")


def running(function: str, *, stack_name: str) -> list[int]:
    """The processes that run a function of a stack, by the function's logical name."""
    wanted = f"AWS_LAMBDA_FUNCTION_NAME={stack_name}-{function}".encode()
    return [int(place.name) for place in PROC.glob("[0-9]*") if _has(place, variable=wanted)]


def kill(pid: int) -> bool:
    """Kills a process at once, as an instance dies on AWS. False where it has gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _has(place: Path, *, variable: bytes) -> bool:
    """Whether an entry of the process's environment begins so."""
    try:
        entries = (place / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is somebody else's
        return False
    return any(entry.startswith(variable) for entry in entries)
