"""Stop the emulator that this checkout started, if it did; its data stay in `.local/`, and `up` brings them back.

With `--wipe`, forget the data too.
"""

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

from tests.environment.console import Problem, complain, say
from tests.environment.places import LOCAL, is_ministack, started
from tests.waiting import WaitedTooLong, wait_until

STOP_TIMEOUT_S = 30


def down(*, local: Path = LOCAL) -> bool:
    """Stop what `up` started and return whether there was anything to stop; data are written before it ends."""
    ours = started(local=local)
    running = ours is not None and is_ministack(ours.pid)
    if ours is not None and running:
        _stop(ours.pid)
    (local / "emulator.json").unlink(missing_ok=True)
    return running


def reset(*, local: Path = LOCAL) -> None:
    """Stop what runs and forget everything that this checkout's local AWS held."""
    down(local=local)
    shutil.rmtree(local, ignore_errors=True)


def _stop(pid: int) -> None:
    """Ask it to end, and wait: it writes its state on the way out. Only one that never ends is killed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        try:
            wait_until(lambda: not is_ministack(pid), description="MiniStack has stopped", timeout_s=STOP_TIMEOUT_S)
        except WaitedTooLong:
            os.kill(pid, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Stop, and say what was done."""
    try:
        if "--wipe" in arguments:
            reset()
            say("The local AWS is stopped and its data are gone.")
        elif down():
            say("The local AWS is stopped; its data stay in .local/, and `make up` brings them back.")
        else:
            say("This checkout started no emulator that is still running.")
    except Problem as problem:
        return complain(problem)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
