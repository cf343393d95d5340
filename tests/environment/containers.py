"""Docker, where it is: whether it answers, and at which address a container finds this machine."""

import ipaddress
import shutil
import subprocess
from functools import cache
from urllib.parse import urlsplit, urlunsplit

from tests.environment.places import is_here

DESKTOP = "host.docker.internal"
"""This machine as containers of Docker Desktop find it; loopback addresses included."""
ANSWER_TIMEOUT_S = 20
BRIDGE = "{{(index .IPAM.Config 0).Subnet}} {{(index .IPAM.Config 0).Gateway}}"


def docker(*arguments: str) -> str | None:
    """What a docker command prints; None if it fails, or Docker is not there or does not answer."""
    if shutil.which("docker") is None:
        return None
    try:
        ended = subprocess.run(
            ["docker", *arguments], capture_output=True, text=True, check=False, timeout=ANSWER_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None


@cache
def host() -> str | None:
    """This machine, as a container on Docker's default network finds it; None without Docker."""
    system = docker("info", "--format", "{{.OperatingSystem}}")
    if system is None or "Docker Desktop" in system:
        return DESKTOP if system is not None else None
    bridge = docker("network", "inspect", "bridge", "--format", BRIDGE)
    return gateway(bridge) if bridge is not None else None


def gateway(bridge: str) -> str:
    """The network's gateway; where it is not said it is the subnet's first address."""
    subnet, _, gateway = bridge.partition(" ")
    return gateway or str(next(ipaddress.ip_network(subnet).hosts()))


def from_inside(url: str) -> str:
    """An address of this machine as a container must say it; any other one, or one without Docker, as it is."""
    address = host() if is_here(url) else None
    return moved(url, address=address) if address is not None else url


def moved(url: str, *, address: str) -> str:
    """The same at another host."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port is not None else ""
    return urlunsplit(parts._replace(netloc=f"{address}{port}"))
