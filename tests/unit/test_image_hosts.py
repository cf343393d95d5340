"""Where pictures may come from: what is on the list, as it is on the list, and nothing that looks like it."""

from __future__ import annotations

import pytest

from images.hosts import parse
from isolane import dial, public_dial
from isolane.errors import ConfigurationError

HOSTS = parse("replicate.delivery, *.Replicate.Delivery,,pictures.example,http://127.0.0.1:8098")

ALLOWED = [
    "https://replicate.delivery/a.png",
    "https://replicate.delivery:443/a.png?x=1#y",
    "https://REPLICATE.delivery/a.png",
    "https://pbxt.replicate.delivery/a.png",
    "https://a.b.replicate.delivery/a.png",
    "https://pictures.example",
]
FORBIDDEN = {
    "no TLS": "http://replicate.delivery/a.png",
    "another port": "https://replicate.delivery:8443/a.png",
    "another port, no TLS": "http://replicate.delivery:443/a.png",
    "another host": "https://evil.example/a.png",
    "a host that ends alike": "https://evilreplicate.delivery/a.png",
    "a host that begins alike": "https://replicate.delivery.evil.example/a.png",
    "a host below one that stands alone": "https://a.pictures.example/a.png",
    "a dot at the end": "https://replicate.delivery./a.png",
    "a host in the place of a user": "https://replicate.delivery@evil.example/a.png",
    "a user": "https://user:secret@replicate.delivery/a.png",
    "a backslash": "https://evil.example\\@replicate.delivery/a.png",
    "a host in the path": "https://evil.example/https://replicate.delivery/a.png",
    "a host in the fragment": "https://evil.example#@replicate.delivery/a.png",
    "the metadata service": "http://169.254.169.254/latest/meta-data/",
    "an address": "https://127.0.0.1/a.png",
    "an address in six": "https://[::1]/a.png",
    "a listed server by another name": "http://localhost:8098/a.png",
    "a listed server by another number": "http://2130706433:8098/a.png",
    "a listed server at another port": "http://127.0.0.1:8099/a.png",
    "a listed server with TLS": "https://127.0.0.1:8098/a.png",
    "a file": "file:///etc/passwd",
    "a file of a host": "file://replicate.delivery/etc/passwd",
    "data": "data:image/png;base64,AAAA",
    "another scheme": "ftp://replicate.delivery/a.png",
    "no scheme": "//replicate.delivery/a.png",
    "no host": "https:///a.png",
    "a space": "https://replicate.delivery/a b.png",
    "a new line": "https://replicate.delivery/\r\nX: y",
    "other letters": "https://replicate.delivery/ä",
    "other letters in the host": "https://replicate。delivery/a.png",
    "nothing": "",
}


@pytest.mark.parametrize("url", ALLOWED)
def test_a_host_on_the_list_is_fetched_from_at_public_addresses(url: str) -> None:
    assert HOSTS.dial_to(url) is public_dial.public


def test_a_server_that_is_listed_with_its_port_is_taken_as_it_is() -> None:
    assert HOSTS.dial_to("http://127.0.0.1:8098/a.png") is dial.anywhere


@pytest.mark.parametrize("url", FORBIDDEN.values(), ids=FORBIDDEN)
def test_no_other_place_is(url: str) -> None:
    assert HOSTS.dial_to(url) is None


def test_an_entry_with_a_star_is_not_the_host_itself() -> None:
    hosts = parse("*.replicate.delivery")
    assert hosts.dial_to("https://replicate.delivery/a.png") is None
    assert hosts.dial_to("https://.replicate.delivery/a.png") is None


def test_an_empty_list_allows_nothing() -> None:
    assert parse(" , ").dial_to("https://replicate.delivery/a.png") is None


@pytest.mark.parametrize(
    "entry",
    [
        "*",
        "*.delivery",
        "replicate.*",
        "localhost",
        "replicate.delivery:443",
        "replicate.delivery/path",
        "user@replicate.delivery",
        "a b.example",
        "-a.example",
        "http://127.0.0.1",
        "http://127.0.0.1:8098/path",
        "http://127.0.0.1:8098?x",
        "http://user@127.0.0.1:8098",
        "ftp://127.0.0.1:21",
        "https://*.example:443",
    ],
)
def test_an_entry_that_says_something_else_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError):
        parse(f"replicate.delivery,{entry}")
