"""Where a container finds this machine."""

import pytest

from tests.environment.containers import from_inside, gateway, moved


@pytest.mark.parametrize(
    ("bridge", "address"),
    [
        ("172.17.0.0/16 172.17.0.1", "172.17.0.1"),
        ("172.17.0.0/16 ", "172.17.0.1"),
        ("10.9.0.0/24 10.9.0.254", "10.9.0.254"),
    ],
)
def test_the_bridge_is_found_where_its_gateway_is_said_and_where_it_is_not(bridge: str, address: str) -> None:
    assert gateway(bridge) == address


def test_an_address_keeps_its_port_and_its_path_elsewhere() -> None:
    assert moved("http://localhost:4566", address="172.17.0.1") == "http://172.17.0.1:4566"
    assert moved("https://127.0.0.1/path", address="host.docker.internal") == "https://host.docker.internal/path"


def test_an_address_of_another_machine_is_the_same_from_everywhere() -> None:
    assert from_inside("http://172.17.0.1:4566") == "http://172.17.0.1:4566"
