"""Connecting to public addresses only, for URLs that come from somebody else.

The name is looked up once. What was found is checked, and the connection goes to the very address that was checked, so
that a name which answers differently the second time gains nothing. A host that is an address in disguise (2130706433,
0x7f.1, [::ffff:127.0.0.1]) is looked up like any other, and what comes of it is checked.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

from isolane import dial
from isolane.errors import AddressForbidden

LookUp: TypeAlias = Callable[[str, int], Sequence[str]]
"""Host and port -> its addresses, in the order in which they should be tried."""

_SPECIAL_V4 = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24")))
"""Protocol assignments and relays, which some versions of Python call global."""
_UNICAST_V6 = ip_network("2000::/3")
"""The only part of IPv6 in which public hosts are; loopback, link-local, site-local and multicast lie outside."""
_SPECIAL_V6 = tuple(map(ip_network, ("2001::/23", "2002::/16", "3fff::/20")))
"""The same: Teredo and other protocols, 6to4, documentation."""
_NAT64 = ip_network("64:ff9b::/96")
"""An IPv4 address as a network that speaks only IPv6 sees it: as public as that one is."""


def public(host: str, port: int, timeout_s: float) -> socket.socket:
    """Connects to the first of the host's addresses that answers. Raises AddressForbidden where one is not public."""
    return public_by(look_up, connect=dial.anywhere)(host, port, timeout_s)


def public_by(look_up: LookUp, *, connect: dial.Dial) -> dial.Dial:
    """The same, with another way to look a name up, and to connect to an address."""

    def dial_public(host: str, port: int, timeout_s: float) -> socket.socket:
        addresses = look_up(host, port)
        # All of them: a name with public and private addresses is a trap or a mistake, and never a picture's host.
        if not all(map(is_public, addresses)):
            raise AddressForbidden
        return _first(addresses, lambda address: connect(address, port, timeout_s))

    return dial_public


def look_up(host: str, port: int) -> list[str]:
    """The host's addresses, as the machine's resolver has them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether anybody on the Internet could connect to it; of an IPv4 address inside an IPv6 one, whether to that."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    inner = _inner(parsed)
    if inner is not None:
        return _is_public_v4(inner)
    return parsed.is_global and parsed in _UNICAST_V6 and not any(parsed in network for network in _SPECIAL_V6)


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in _SPECIAL_V4)


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped


def _first(addresses: Sequence[str], connect: Callable[[str], socket.socket]) -> socket.socket:
    failed: OSError = OSError("the name has no address")
    for address in addresses:
        try:
            return connect(address)
        except OSError as error:
            failed = error
    raise failed
