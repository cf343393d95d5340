"""`sam local`: one event or the whole API, in the image in which Lambda runs functions."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.client import Client
from tests.environment import containers, sam
from tests.environment.adapt import architecture
from tests.environment.console import Problem, say
from tests.environment.dynamodb_local import free_port
from tests.environment.places import BUILT, LOCAL, ROOT
from tests.environment.tools import tool, use
from tests.events import Case
from tests.waiting import wait_until

IMAGE = f"public.ecr.aws/lambda/python:3.13-{architecture()}"
LOG = LOCAL / "sam-local.log"
"""What the functions and `sam local` say."""
INVOKE_TIMEOUT_S = 180
INVOKE_TRIES = 2
DEBUGGER = LOCAL / "debugger"
INSIDE = "/tmp/lambci_debug_files"  # noqa: S108 - where sam local mounts the debugger, inside the container


@dataclass(frozen=True, kw_only=True)
class SamLocal:
    """`sam local`, told where the tables and queues are, or not told."""

    variables: Path | None

    def command(self, name: str, *more: str) -> list[str]:
        told = ("--env-vars", str(self.variables)) if self.variables is not None else ()
        return sam.command(
            [
                *("local", name, *more, "--template-file", str(BUILT / "sam-local.yaml")),
                *("--skip-pull-image", *told, "--parameter-overrides", f"Architecture={architecture()}"),
            ]
        )

    def answer(self, case: Case) -> Any:
        """What the function answers to the event; what it says on the way goes to the log.

        Once more where there is none: its container's start counts in the function's time, and a machine may be busy.
        """
        command = self.command("invoke", case.logical_name, "--event", str(case.path))
        for _ in range(INVOKE_TRIES):
            with suppress(ValueError):
                return json.loads(self._said(command))
        raise Problem(f"{case.name} got no answer from `sam local invoke`; its log is {LOG}.")

    def _said(self, command: list[str]) -> bytes:
        with LOG.open("ab") as log:
            ended = subprocess.run(
                command,
                env=surroundings(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                check=False,
                timeout=INVOKE_TIMEOUT_S,
            )
        return ended.stdout

    def show(self, case: Case, *, debug_port: str | None) -> int:
        """The same, with all that is said on the terminal."""
        more = debugging(debug_port) if debug_port is not None else ()
        command = self.command("invoke", case.logical_name, "--event", str(case.path), *more)
        return subprocess.run(command, env=surroundings(), cwd=ROOT, check=False).returncode

    @contextmanager
    def api(self) -> Iterator[Client]:
        """The API as `sam local start-api` serves it."""
        port = free_port()
        with LOG.open("ab") as log:
            server = subprocess.Popen(
                self.command("start-api", "--port", str(port), "--warm-containers", "LAZY"),
                env=surroundings(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_heeds_interrupts,  # noqa: PLW1509 - one call into libc, in a process of one thread
            )
        try:
            wait_until(lambda: _listens(port, server=server), description="sam local start-api listens", timeout_s=60)
            yield Client(base_url=f"http://127.0.0.1:{port}")
        finally:
            server.send_signal(signal.SIGINT)  # it stops its containers on the way out
            server.wait(timeout=60)


def _heeds_interrupts() -> None:
    """Whoever is started in the background ignores SIGINT, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def surroundings() -> dict[str, str]:
    """The environment of `sam local`, which hands on what it finds there to the functions: no endpoint by accident."""
    return {name: value for name, value in sam.surroundings(sam.NOWHERE).items() if name != "AWS_ENDPOINT_URL"}


def _listens(port: int, *, server: "subprocess.Popen[bytes]") -> bool:
    if server.poll() is not None:
        raise Problem(f"`sam local start-api` ended at once; its log is {LOG}.")
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False


def debugging(port: str) -> tuple[str, ...]:
    """What makes the function wait for a debugger on that port; debugpy is fetched once."""
    if not (DEBUGGER / "debugpy").exists():
        platform = "aarch64" if architecture() == "arm64" else "x86_64"
        wanted = ("--platform", f"manylinux_2_34_{platform}", "--platform", "any", "--python-version", "3.13")
        pip = ("-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--target", str(DEBUGGER))
        subprocess.run([sys.executable, *pip, *wanted, "debugpy"], check=True)
    say(f"Waiting for a debugger on port {port}.")
    start = f"{INSIDE}/debugpy --listen 0.0.0.0:{port} --wait-for-client"
    return ("--debug-port", port, "--debugger-path", str(DEBUGGER), "--debug-args", start)


def make_ready() -> None:
    """See that Docker and the runtime's image are there; a tool beside the checkout may make both."""
    image = containers.docker("image", "inspect", IMAGE)
    maker = tool("lambda-python-image")
    if image is None and maker is not None:
        use(maker)
        containers.host.cache_clear()
    if containers.host() is None:
        raise Problem("sam local runs the functions in Docker, and no Docker answers here.")
