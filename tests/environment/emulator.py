"""Which emulator answers at an address, if one does, and who else has the port."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import urllib3

from tests.environment.console import Problem
from tests.environment.containers import from_inside
from tests.environment.places import port_of

HTTP = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=2, read=3))


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """An AWS emulator that answers: its name (ministack, localstack, moto), its version, its address."""

    name: str
    version: str
    url: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} at {self.url}"

    @property
    def most_callers(self) -> int:
        """How many it is fair to have call at once: LocalStack starts a container for each, the others a process."""
        return 8 if self.name == "localstack" else 64

    def seen_by_functions(self, url: str) -> str:
        """An address of this machine as the functions must say it: LocalStack runs them in containers."""
        return from_inside(url) if self.name == "localstack" else url


def find(url: str) -> Emulator | None:
    """The emulator at the address; None if nothing answers; a Problem if it is something else."""
    try:
        health = _get(f"{url}/_localstack/health")
    except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
        return None
    except urllib3.exceptions.HTTPError as error:
        raise Problem(_taken(url)) from error
    emulator = _recognise(health, url=url)
    if emulator is None:
        raise Problem(_taken(url))
    return emulator


def _get(url: str) -> dict[str, Any] | None:
    """The JSON object at the address, or None if there is something else."""
    answer = HTTP.request("GET", url)
    try:
        body = json.loads(answer.data)
    except ValueError:
        return None
    return body if answer.status == 200 and isinstance(body, dict) else None


def _recognise(health: dict[str, Any] | None, *, url: str) -> Emulator | None:
    """Name the emulator by what only it answers."""
    if health is not None and "services" in health:
        # LocalStack takes a path that it does not know for a bucket, and loads all of S3 before it says no.
        name = "localstack" if _get(f"{url}/_localstack/info") is not None else "ministack"
        return Emulator(name=name, version=str(health.get("version", "of unknown version")), url=url)
    if _get(f"{url}/moto-api/data.json") is not None:
        return Emulator(name="moto", version="server", url=url)
    return None


def _taken(url: str) -> str:
    """A sentence about a port that something else has."""
    port = port_of(url)
    return (
        f"Port {port} is taken by {holder(port)}, which is not an AWS emulator. "
        f"Stop it, or choose another port: PORT={port + 1} make …"
    )


def holder(port: int) -> str:
    """Who listens on a port of this machine, as well as the machine can tell."""
    for command, position in (
        (["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN"], 0),
        (["ss", "-Hltnp", f"sport = :{port}"], -1),
    ):
        if shutil.which(command[0]) is None:
            continue
        lines = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.splitlines()
        if lines:
            return lines[-1].split()[position]
    return "another program"
