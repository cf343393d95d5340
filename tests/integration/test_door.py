"""Containers reach what listens on this machine's loopback, while the door is open and no longer."""

import sys

import pytest
import urllib3

from tests.doubles.model_server import ModelServer
from tests.environment import door

OUTSIDE = "127.0.0.2"
"""It stands for the bridge's address, which only a machine with Docker has."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason=f"only Linux has {OUTSIDE} without setup")


def reached(url: str) -> bool:
    try:
        return urllib3.request("GET", f"{url}/requests", retries=False, timeout=5).status == 200
    except urllib3.exceptions.NewConnectionError:
        return False


def test_what_is_inside_is_reached_from_outside_for_as_long_as_the_door_is_open() -> None:
    with ModelServer() as server:
        outside = server.url.replace("127.0.0.1", OUTSIDE)
        assert not reached(outside)
        with door.opened(server.url, outside=outside):
            assert reached(outside)
            assert reached(server.url)
        assert not reached(outside)


def test_a_door_is_not_needed_where_somebody_listens_already() -> None:
    with ModelServer() as server, door.opened(server.url, outside=server.url):
        assert reached(server.url)
