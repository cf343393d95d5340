"""Stop the emulator that this checkout started, if it did; its data stay in `.local/`, and `up` brings them back.

With `--wipe`, forget the data too.
"""

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

from tests.environment import emulator, processes, stack
from tests.environment.console import run, say
from tests.environment.places import LOCAL, endpoint, is_ministack, started
from tests.waiting import WaitedTooLong, wait_until

STOP_TIMEOUT_S = 30


def down(*, local: Path = LOCAL) -> bool:
    """Stop what `up` started and return whether there was anything to stop; data are written before it ends."""
    ours = started(local=local)
    running = ours is not None and is_ministack(ours.pid)
    if ours is not None and running:
        _stop(ours.pid)
        for pid in processes.left_behind(local / "tmp"):
            processes.kill(pid)
    (local / "emulator.json").unlink(missing_ok=True)
    return running


def reset(*, local: Path = LOCAL) -> bool:
    """Stop what runs and forget everything that this checkout put into a local AWS, its own or somebody else's."""
    stopped = down(local=local)
    _leave_others(local=local)
    shutil.rmtree(local, ignore_errors=True)
    return stopped


def _leave_others(*, local: Path) -> None:
    """Delete our stack from an emulator that others started; a stack that another checkout deployed stays."""
    others = emulator.find(endpoint(local=local))
    standing = stack.find(others.url) if others is not None else None
    if others is not None and standing is not None and standing.mark in stack.noted(local=local):
        stack.delete(others.url)


def _stop(pid: int) -> None:
    """Ask it to end, and wait: it writes its state on the way out. Only one that never ends is killed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        try:
            wait_until(lambda: not is_ministack(pid), description="MiniStack has stopped", timeout_s=STOP_TIMEOUT_S)
        except WaitedTooLong:
            os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Stop, and say what was done."""
    if "--wipe" in sys.argv[1:]:
        say("The local AWS is stopped and its data are gone." if reset() else "The data of this checkout are gone.")
    elif down():
        say("The local AWS is stopped; its data stay in .local/, and `make up` brings them back.")
    else:
        say("This checkout started no emulator that is still running.")


if __name__ == "__main__":
    raise SystemExit(run(main))
