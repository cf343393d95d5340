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


def left_behind(folder: Path) -> list[int]:
    """The processes of functions that an emulator has unpacked into this folder, whether or not it knows them still.

    MiniStack forgets those of a function whose process was killed, and they outlive it.
    """
    wanted = f"{folder}/ministack-lambda-".encode()
    return [int(place.name) for place in PROC.glob("[0-9]*") if wanted in _read(place / "cmdline")]


def kill(pid: int) -> bool:
    """Kills a process at once, as an instance dies on AWS. False where it has gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _has(place: Path, *, variable: bytes) -> bool:
    """Whether an entry of the process's environment begins so."""
    return any(entry.startswith(variable) for entry in _read(place / "environ").split(b"\0"))


def _read(path: Path) -> bytes:
    """What is there; nothing, where the process has ended or is somebody else's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
