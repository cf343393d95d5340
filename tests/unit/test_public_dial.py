"""Which addresses are public, and that nothing but the address that was checked is ever connected to."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from isolane.errors import AddressForbidden, OutgoingError
from isolane.public_dial import is_public, public_by

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "169.253.255.255",
    "192.0.1.1",
    "198.17.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:82b::200e",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]
FORBIDDEN = {
    "this host": "0.0.0.0",  # noqa: S104 - nothing is bound to it
    "this network": "0.1.2.3",
    "loopback": "127.0.0.1",
    "all of loopback": "127.255.255.254",
    "private, ten": "10.0.0.1",
    "private, 172": "172.16.0.1",
    "the end of it": "172.31.255.255",
    "private, 192": "192.168.1.1",
    "carrier-grade NAT": "100.64.0.1",
    "the end of that": "100.127.255.255",
    "link-local: the metadata service": "169.254.169.254",
    "protocol assignments": "192.0.0.8",
    "more of them": "192.0.0.192",
    "a relay of 6to4": "192.88.99.1",
    "documentation": "192.0.2.1",
    "documentation, two": "198.51.100.1",
    "documentation, three": "203.0.113.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.0.1",
    "multicast, globally": "233.1.2.3",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "six: unspecified": "::",
    "six: loopback": "::1",
    "six: link-local": "fe80::1",
    "six: link-local with a zone": "fe80::1%eth0",
    "six: site-local": "fec0::1",
    "six: unique local": "fc00::1",
    "six: the metadata service": "fd00:ec2::254",
    "six: multicast": "ff02::1",
    "six: multicast, globally": "ff0e::1",
    "six: documentation": "2001:db8::1",
    "six: documentation, two": "3fff::1",
    "six: discard": "100::1",
    "six: segment routing": "5f00::1",
    "six: nobody's": "4000::1",
    "six: ORCHID": "2001:10::1",
    "six: ORCHID, the second": "2001:20::1",
    "mapped loopback": "::ffff:127.0.0.1",
    "mapped metadata": "::ffff:169.254.169.254",
    "mapped multicast": "::ffff:224.0.0.1",
    "compatible loopback": "::127.0.0.1",
    "translated loopback": "::ffff:0:127.0.0.1",
    "6to4 of loopback": "2002:7f00:1::",
    "6to4 of ten": "2002:a00:1::1",
    "6to4, whatever of": "2002:808:808::1",
    "NAT64 of loopback": "64:ff9b::127.0.0.1",
    "NAT64 of metadata": "64:ff9b::169.254.169.254",
    "NAT64 of a network's own": "64:ff9b:1::8.8.8.8",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", FORBIDDEN.values(), ids=FORBIDDEN)
def test_no_other_address_is(address: str) -> None:
    assert not is_public(address)


@dataclass
class Network:
    """A resolver and a way to connect that remember what they were asked for."""

    answers: list[Sequence[str]]
    dead: frozenset[str] = frozenset()
    looked_up: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)

    def look_up(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - a resolver's shape
        self.looked_up.append(host)
        return self.answers.pop(0)

    def connect(self, host: str, port: int, timeout_s: float) -> socket.socket:  # noqa: ARG002 - a dial's shape
        self.connected.append((host, port))
        if host in self.dead:
            raise ConnectionRefusedError(host)
        end, other = socket.socketpair()
        other.close()
        return end

    def dial(self, host: str = "pictures.example") -> None:
        public_by(self.look_up, connect=self.connect)(host, 443, 1.0).close()


def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    """A name that answers with a private address the second time is not asked a second time."""
    network = Network([["8.8.8.8"], ["127.0.0.1"]])
    network.dial()
    assert (network.looked_up, network.connected) == (["pictures.example"], [("8.8.8.8", 443)])
    with pytest.raises(AddressForbidden):
        network.dial()
    assert network.connected == [("8.8.8.8", 443)]


@pytest.mark.parametrize("found", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["::1", "8.8.8.8"]])
def test_a_name_with_an_address_that_is_not_public_is_not_connected_to_at_all(found: list[str]) -> None:
    network = Network([found])
    with pytest.raises(AddressForbidden):
        network.dial()
    assert network.connected == []


def test_a_forbidden_address_is_for_good_and_names_nothing() -> None:
    with pytest.raises(OutgoingError) as failed:
        Network([["169.254.169.254"]]).dial("secret.example")
    assert (failed.value.code, failed.value.retryable) == ("address_forbidden", False)
    assert "169" not in str(failed.value)
    assert "secret" not in str(failed.value)


def test_addresses_are_tried_in_turn() -> None:
    network = Network([["2606:4700:4700::1111", "8.8.8.8"]], dead=frozenset({"2606:4700:4700::1111"}))
    network.dial()
    assert network.connected == [("2606:4700:4700::1111", 443), ("8.8.8.8", 443)]


@pytest.mark.parametrize("found", [[], ["8.8.8.8", "1.1.1.1"]])
def test_a_name_where_nothing_answers_is_an_error_that_may_pass(found: list[str]) -> None:
    with pytest.raises(OSError, match=r"no address|1\.1\.1\.1"):
        Network([found], dead=frozenset(found)).dial()
