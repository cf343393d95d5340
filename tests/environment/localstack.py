"""Start a LocalStack for this checkout, unless it has one: `python -m tests.environment.localstack`; `--stop` ends it.

A tool beside the checkout starts it where its image cannot be pulled; everywhere else compose.yaml does.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.environment import containers, emulator
from tests.environment.console import Problem, run, say
from tests.environment.dynamodb_local import free_port
from tests.environment.places import LOCAL, ROOT, checked, is_running
from tests.environment.tools import tool, use
from tests.waiting import wait_until

STOP_TIMEOUT_S = 60
PATIENCE = {"LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT": "60", "LAMBDA_KEEPALIVE_MS": "60000"}
"""How long a function's container may take to start, and stays when it is idle; compose.yaml says the same."""
NOTE = LOCAL / "localstack"
"""Its address, and how to stop it: the number of its process, or nothing where it is compose's."""


def start() -> str:
    """The address of this checkout's LocalStack, started if it does not run."""
    if NOTE.exists() and answers(noted()[0]):
        return noted()[0]
    LOCAL.mkdir(exist_ok=True)
    maker = tool("localstack")
    url, pid = _by_tool(maker) if maker is not None else _by_compose()
    NOTE.write_text(f"{url}\n{pid}\n")
    if not answers(url):
        raise Problem(f"What was started at {url} is not LocalStack.")
    return url


def answers(url: str) -> bool:
    """Whether LocalStack is there."""
    found = emulator.find(checked(url))
    return found is not None and found.name == "localstack"


def noted() -> tuple[str, str]:
    """The address and the process that were written down."""
    url, _, pid = NOTE.read_text().strip().partition("\n")
    return url, pid


def _by_tool(maker: Path) -> tuple[str, str]:
    home = Path(tempfile.gettempdir()) / "localstack-host"
    url = use(maker, str(free_port()), **PATIENCE).splitlines()[-1]
    return url, (home / "pid").read_text().strip()


def _by_compose() -> tuple[str, str]:
    if containers.docker("compose", "version") is None:
        raise Problem("LocalStack comes in a container, and `docker compose` does not answer here.")
    port = str(free_port())
    command = ["docker", "compose", "up", "--detach", "--wait"]
    ended = subprocess.run(command, env={**os.environ, "PORT": port}, cwd=ROOT, check=False)
    if ended.returncode != 0:
        raise Problem("`docker compose up` failed, as it says above.")
    return f"http://localhost:{port}", ""


def stop() -> None:
    """End what `start` started, and the containers of its functions with it."""
    if not NOTE.exists():
        return
    _, pid = noted()
    if not pid:
        subprocess.run(["docker", "compose", "down"], cwd=ROOT, check=False)
    elif is_running(int(pid), name="localstack"):
        os.kill(int(pid), signal.SIGTERM)
        wait_until(
            lambda: not is_running(int(pid), name="localstack"),
            description="LocalStack has stopped",
            timeout_s=STOP_TIMEOUT_S,
        )
    NOTE.unlink()


def main() -> None:
    """Start and say where; or stop."""
    if "--stop" in sys.argv[1:]:
        stop()
    else:
        say(f"LocalStack: {start()}")


if __name__ == "__main__":
    raise SystemExit(run(main))
