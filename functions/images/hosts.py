"""Where pictures may be fetched from: the hosts that the operator named, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from urllib3.util import Url

from isolane import dial, public_dial
from isolane.dial import Dial
from isolane.errors import ConfigurationError
from isolane.http import checked_url

_HOST = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_ANY = "*"
_PORTS = {"http": 80, "https": 443}

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port."""


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """An allow-list, as IMAGE_HOSTS has it.

    `replicate.delivery` is that host, `*.replicate.delivery` is every host below it: over https, at port 443, and only
    at a public address. An entry with its scheme and port, `http://127.0.0.1:8098`, is that server as it is, without
    TLS and at a private address too: it is there for laptops and tests.
    """

    names: frozenset[str]
    domains: tuple[str, ...]
    """Each with the dot before it."""
    origins: frozenset[Origin]
    public: Dial = public_dial.public
    """How to connect to a host that is named without a port."""

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.domains or self.origins)

    def dial_to(self, url: str) -> Dial | None:
        """How to connect to the URL's host; None where it must not be fetched from. Read as `http.request` reads it."""
        try:
            parsed = checked_url(url)
        except ConfigurationError:
            return None
        scheme, host, port = _origin(parsed)
        if (scheme, host, port) in self.origins:
            return dial.anywhere
        is_named = host in self.names or (host.endswith(self.domains) and _HOST.fullmatch(host))
        return self.public if is_named and scheme == "https" and port == _PORTS["https"] else None


def parse(text: str) -> Hosts:
    """The allow-list that a setting holds. Raises ConfigurationError."""
    entries = [entry.strip().lower() for entry in text.split(",") if entry.strip()]
    origins = [entry for entry in entries if "://" in entry]
    hosts = [entry for entry in entries if "://" not in entry]
    if not all(map(_HOST.fullmatch, hosts)):
        raise ConfigurationError(
            "ImageHosts (IMAGE_HOSTS) has entries such as replicate.delivery, *.replicate.delivery, or, for tests, "
            "http://127.0.0.1:8098."
        )
    return Hosts(
        names=frozenset(host for host in hosts if not host.startswith(_ANY)),
        domains=tuple(host.removeprefix(_ANY) for host in hosts if host.startswith(_ANY)),
        origins=frozenset(_origins(origins)),
    )


def _origins(entries: Iterable[str]) -> Iterable[Origin]:
    for entry in entries:
        parsed = checked_url(entry)
        if parsed.port is None or parsed.request_uri != "/" or _ANY in entry:
            raise ConfigurationError("An entry of ImageHosts (IMAGE_HOSTS) with a scheme needs a port, and no path.")
        yield _origin(parsed)


def _origin(url: Url) -> Origin:
    scheme = str(url.scheme)
    return scheme, str(url.host), url.port if url.port is not None else _PORTS[scheme]
