"""Start the local AWS, unless one answers already.

Whatever answers at the address is used as it is. If nothing does and the address is this machine's, MiniStack is
started there as a background process, with its state, its files and its log in this checkout's `.local/`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.environment import emulator
from tests.environment.console import Problem, run, say
from tests.environment.emulator import Emulator
from tests.environment.places import (
    LOCAL,
    ROOT,
    endpoint,
    harmless,
    is_here,
    is_ministack,
    port_of,
    remember_port,
    started,
)
from tests.waiting import WaitedTooLong, wait_until

START_TIMEOUT_S = 60
LAUNCH = 'log=$1; shift; "$@" >>"$log" 2>&1 & echo $!'


def up(url: str | None = None, *, local: Path = LOCAL) -> Emulator:
    """The emulator at the address, started there if nothing answered."""
    where = endpoint(local=local) if url is None else url
    found = emulator.find(where)
    if found is None:
        refuse_a_second(where, local=local)
    if is_here(where) and "AWS_ENDPOINT_URL" not in os.environ:
        remember_port(port_of(where), local=local)
    if found is not None:
        return found
    if not is_here(where):
        raise Problem(f"Nothing answers at {where}, and an emulator can only be started on this machine.")
    if not still_starting(where, local=local):
        _start(where, local=local)
    return _wait_until_well(where, local=local)


def refuse_a_second(url: str, *, local: Path) -> None:
    """A checkout has one emulator: two would write to one folder, and `down` would know of the last one only."""
    ours = started(local=local)
    if ours is not None and ours.port != port_of(url) and is_ministack(ours.pid):
        raise Problem(f"This checkout's local AWS runs on port {ours.port} already; `make down` stops it.")


def still_starting(url: str, *, local: Path) -> bool:
    """Whether an earlier `up`, interrupted while it waited, has started one here that will answer soon."""
    ours = started(local=local)
    return ours is not None and ours.port == port_of(url) and is_ministack(ours.pid)


def _start(url: str, *, local: Path) -> None:
    """Start MiniStack in the background, and write down that it is ours."""
    for folder in ("tmp", "state", "s3"):
        (local / folder).mkdir(parents=True, exist_ok=True)
    # By a shell that ends at once, so that nobody here is its parent: it outlives us, and leaves no zombie.
    launched = subprocess.run(
        ["/bin/sh", "-c", LAUNCH, "sh", str(local / "ministack.log"), sys.executable, "-m", "ministack"],
        env=surroundings(os.environ, url=url, local=local),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    _write_down(int(launched.stdout), port=port_of(url), local=local)


def surroundings(environ: Mapping[str, str], *, url: str, local: Path) -> dict[str, str]:
    """The environment of MiniStack and of the functions that it runs: all of its own, and only on this machine."""
    kept = {name: value for name, value in harmless(environ, url=url).items() if not name.startswith("PYTHON")}
    return kept | {
        "BIND_HOST": environ.get("BIND_HOST", "127.0.0.1"),
        "GATEWAY_PORT": str(port_of(url)),
        "PERSIST_STATE": "1",
        "STATE_DIR": str(local / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(local / "s3"),
        "TMPDIR": str(local / "tmp"),
        "LOG_LEVEL": "WARNING",
        # Functions may do what their roles say and nothing else, as on AWS; the made-up key may do everything.
        "AUTH": "true",
        # Services that open a port of their own, or containers, which a second checkout would trip over.
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "DOCKER_HOST": f"unix://{local / 'no-docker'}",
    }


def _write_down(pid: int, *, port: int, local: Path) -> None:
    """Note the process, so that `down` stops it and nothing else, and later commands find its port."""
    torn = local / "emulator.json.new"
    torn.write_text(json.dumps({"pid": pid, "port": port}))
    torn.replace(local / "emulator.json")


def _wait_until_well(url: str, *, local: Path) -> Emulator:
    """Wait for the emulator that was started; say where its log is if it does not come up."""

    def well() -> Emulator | None:
        found = emulator.find(url)
        if found is None and not still_starting(url, local=local):
            raise Problem(f"MiniStack stopped as soon as it was started; its log is {local / 'ministack.log'}.")
        return found

    try:
        found = wait_until(well, description=f"MiniStack answers at {url}", timeout_s=START_TIMEOUT_S)
    except WaitedTooLong as late:
        raise Problem(f"{late}; its log is {local / 'ministack.log'}.") from late
    assert found is not None
    return found


def main() -> None:
    """Start, and say what runs where."""
    say(f"AWS: {up()}")


if __name__ == "__main__":
    raise SystemExit(run(main))
