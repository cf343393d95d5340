"""Where things are: this checkout's folders, and the address of the AWS in use."""

import hashlib
import json
import os
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tests.environment.console import Problem

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
BUILT = ROOT / ".aws-sam" / "build"

REGION = "us-east-1"
STACK_NAME = f"isolane-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:6]}"
"""Another one for each checkout, so that two can share an emulator without deploying over each other."""
ARTIFACTS = "isolane-artifacts"
"""The bucket that `sam deploy` uploads to."""
SECTIONS = {"ministack": "local", "localstack": "localstack"}
"""The emulators that can be deployed to, and their sections of samconfig.toml."""
DEFAULT_PORT = 4566
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, kw_only=True)
class Started:
    """The emulator that this checkout started: its process and its port."""

    pid: int
    port: int


def started(*, local: Path = LOCAL) -> Started | None:
    """What `up` wrote down about the emulator it started; None if it started none, or the note is torn."""
    try:
        note = json.loads((local / "emulator.json").read_text())
        return Started(pid=note["pid"], port=note["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_ministack(pid: int) -> bool:
    """Whether the process lives and is MiniStack."""
    return is_running(pid, name="ministack")


def is_running(pid: int, *, name: str) -> bool:
    """Whether the process lives and its command has the name: a number may have been given to another since."""
    shown = subprocess.run(["ps", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return name in shown.stdout and not shown.stdout.startswith("Z")


def endpoint(*, local: Path = LOCAL) -> str:
    """The AWS to use: AWS_ENDPOINT_URL, else PORT, LOCALSTACK_HOST, the port that this checkout used last, or 4566."""
    from localstack_client.config import get_service_endpoint  # noqa: PLC0415 - it imports boto3, which few need

    try:
        found = get_service_endpoint("cloudformation", localstack_host=_host(local=local))
    except RuntimeError as error:
        raise Problem(f"LOCALSTACK_HOST is written name:port, and {os.environ['LOCALSTACK_HOST']!r} is not.") from error
    return checked(str(found).rstrip("/"))


def _host(*, local: Path) -> str:
    """Where localstack-client is to look when no whole address is said."""
    if os.environ.get("PORT"):
        return f"localhost:{port_number(os.environ['PORT'])}"
    return os.environ.get("LOCALSTACK_HOST") or f"localhost:{remembered_port(local=local)}"


def overrides(emulator: str) -> dict[str, str]:
    """The parameters that samconfig.toml sets for an emulator."""
    section = tomllib.loads((ROOT / "samconfig.toml").read_text())[SECTIONS.get(emulator, "local")]
    return dict(entry.split("=", 1) for entry in section["deploy"]["parameters"]["parameter_overrides"])


def remember_port(port: int, *, local: Path = LOCAL) -> None:
    """Let later commands of this checkout find the emulator that this one used, without being told the PORT again."""
    local.mkdir(parents=True, exist_ok=True)
    (local / "port").write_text(f"{port}\n")


def remembered_port(*, local: Path = LOCAL) -> int:
    """The port that was used last, or the usual one."""
    try:
        return port_number((local / "port").read_text().strip())
    except (OSError, Problem):
        return DEFAULT_PORT


def checked(url: str) -> str:
    """Refuse an address that is not one, or that is AWS itself: nothing here may reach a real account."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_a_port(parts):
        raise Problem(f"AWS_ENDPOINT_URL must be an address like http://localhost:4566, and {url!r} is not.")
    if parts.hostname.endswith((".amazonaws.com", ".amazonaws.com.cn", ".aws")):
        raise Problem(f"AWS_ENDPOINT_URL names AWS itself ({parts.hostname}); these commands are for emulators only.")
    return url


def _has_a_port(parts: SplitResult) -> bool:
    """Whether the port that an address names can be one; none is named by most."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def port_number(text: str) -> int:
    """PORT as a number that a port can have."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise Problem(f"PORT must be a number from 1 to 65535, and {text!r} is not.")
    return int(text)


def port_of(url: str) -> int:
    """The port that an address names, or its scheme's own."""
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def is_here(url: str) -> bool:
    """Whether the address is this machine's own, so that an emulator may be started there."""
    return urlsplit(url).hostname in LOOPBACK


def harmless(environ: Mapping[str, str] = os.environ, *, url: str) -> dict[str, str]:
    """The environment for a child process that talks to AWS: made-up keys, this address, no way to a real account."""
    ours = ("AWS_", "POWERTOOLS_")  # what this process is set up with is not for what it starts
    kept = {name: value for name, value in environ.items() if not name.startswith(ours) or name == "AWS_CA_BUNDLE"}
    return kept | {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
