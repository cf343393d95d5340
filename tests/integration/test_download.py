"""Fetching a picture from servers that behave and misbehave: its bytes, or one named reason why there are none."""

from __future__ import annotations

import logging
import socket
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from images.download import MAX_BYTES, Download
from images.hosts import parse
from images.provider import NoPicture
from isolane import connection, dial
from isolane.deadline import Deadline
from isolane.errors import OutgoingError, TimedOut, Unreachable
from isolane.model_errors import ModelBusy
from isolane.public_dial import public_by
from tests.doubles import steps, tls
from tests.doubles.model_server import ModelServer
from tests.pictures import png

SIGNED = "/p.png?signature=secret-of-the-provider"
PUBLIC = "93.184.216.34"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def fetch(url: str, *, hosts: str, timeout_s: float = 20, within_s: float = 30) -> bytes:
    return Download(hosts=parse(hosts), timeout_s=timeout_s).fetch(url, deadline=Deadline.after(within_s))


def fetch_from(server: ModelServer, *, timeout_s: float = 20, within_s: float = 30) -> bytes:
    return fetch(f"{server.url}{SIGNED}", hosts=server.url, timeout_s=timeout_s, within_s=within_s)


def serving(data: bytes) -> steps.Step:
    return {**steps.status(200, headers={"Content-Type": "text/html"}), "body_hex": data.hex()}


def test_a_picture_is_fetched_by_one_plain_request(server: ModelServer) -> None:
    server.play(serving(png()))
    assert fetch_from(server) == png()
    [request] = server.requests
    assert (request.method, request.path, request.body) == ("GET", SIGNED, "")
    assert not request.headers.keys() & {"authorization", "cookie", "idempotency-key", "referer"}


def test_a_picture_of_exactly_the_limit_is_fetched(server: ModelServer) -> None:
    server.play(steps.status(200, "x" * MAX_BYTES))
    assert len(fetch_from(server)) == MAX_BYTES == 10 * 1024 * 1024


METADATA = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
FOR_GOOD: dict[str, tuple[steps.Step, str]] = {
    **{
        f"a redirect ({code})": ({**steps.redirect(METADATA), "status": code}, "picture_forbidden")
        for code in (301, 302, 303, 307, 308)
    },
    "a redirect to itself": (steps.redirect(SIGNED), "picture_forbidden"),
    "not modified": (steps.status(304), "picture_forbidden"),
    "not found": (steps.status(404), "picture_gone"),
    "gone": (steps.status(410), "picture_gone"),
    "a link that has expired": (steps.status(403, "<Code>AccessDenied</Code>"), "picture_gone"),
    "a token that has expired": (steps.status(400, "<Code>ExpiredToken</Code>"), "picture_gone"),
    "no content": (steps.status(204), "picture_invalid"),
    "a part": (steps.status(206, "half"), "picture_invalid"),
    "a byte more than the limit": (steps.status(200, "x" * (MAX_BYTES + 1)), "picture_too_large"),
    "a stream without end, with a length": (steps.huge_body(framing="length"), "picture_too_large"),
    "a stream without end, without one": (steps.huge_body(framing="close"), "picture_too_large"),
    "a stream without end, in chunks": (steps.huge_body(framing="chunked"), "picture_too_large"),
    "a small body that becomes a large one": (steps.gzip_bomb(), "picture_too_large"),
}


@pytest.mark.parametrize(("step", "code"), FOR_GOOD.values(), ids=FOR_GOOD)
def test_where_there_will_never_be_a_picture_it_is_said_why(
    server: ModelServer, step: steps.Step, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(step)
    with pytest.raises(NoPicture) as failed:
        fetch_from(server)
    assert (failed.value.problem.code, failed.value.retryable) == (code, False)
    assert len(server.requests) == 1
    assert_that_nothing_is_told(failed.value, caplog)


FOR_NOW: dict[str, tuple[steps.Step, type[OutgoingError]]] = {
    **{f"status {code}": (steps.status(code), ModelBusy) for code in (408, 425, 429, 500, 502, 503, 504)},
    "silence": (steps.silent(), TimedOut),
    "a byte of its headers at a time": (steps.slow_headers(every_s=0.05), TimedOut),
    "a byte at a time": (steps.slow_body(every_s=0.05), TimedOut),
    "a broken connection": (steps.reset(), Unreachable),
    "a cut body": (steps.cut_body("half"), Unreachable),
    "another protocol": (steps.raw("SSH-2.0-x\r\n"), Unreachable),
    "a chunk whose size never ends": (steps.endless_line(), Unreachable),
}


@pytest.mark.parametrize(("step", "kind"), FOR_NOW.values(), ids=FOR_NOW)
def test_where_there_may_be_one_later_it_is_said_so(
    server: ModelServer, step: steps.Step, kind: type[OutgoingError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(step)
    with pytest.raises(OutgoingError) as failed:
        fetch_from(server, timeout_s=0.5 if step["kind"] in steps.ENDLESS else 20)
    assert (type(failed.value), failed.value.retryable) == (kind, True)
    assert len(server.requests) == 1
    assert_that_nothing_is_told(failed.value, caplog)


def assert_that_nothing_is_told(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    told = (
        "".join(traceback.format_exception(error))
        + repr(error)
        + "".join(record.getMessage() for record in caplog.records if record.name.startswith(("isolane", "images")))
    )
    assert "secret-of-the-provider" not in told
    assert "127.0.0.1" not in told


def test_the_hosts_own_wait_is_passed_on(server: ModelServer) -> None:
    server.play(steps.rate_limited("7"))
    with pytest.raises(ModelBusy) as failed:
        fetch_from(server)
    assert failed.value.retry_after_s == 7


def test_the_deadline_bounds_all_of_it(server: ModelServer) -> None:
    server.play(steps.slow_body(every_s=0.05))
    started_s = time.monotonic()
    with pytest.raises(TimedOut):
        fetch_from(server, within_s=0.4)
    assert 0.4 <= time.monotonic() - started_s < 3


@pytest.mark.parametrize(
    "url", ["http://elsewhere.example/", "https://127.0.0.1/", "", "data:,x", f"https://a.example/{'x' * 4_096}"]
)
def test_a_place_that_is_not_allowed_is_not_asked(server: ModelServer, url: str) -> None:
    with pytest.raises(NoPicture) as failed:
        fetch(url, hosts=f"a.example,{server.url}")
    assert failed.value.code == "picture_forbidden"


def test_a_server_that_redirects_to_another_that_is_allowed_is_not_followed_either(server: ModelServer) -> None:
    with ModelServer() as other:
        server.play(steps.redirect(other.url))
        with pytest.raises(NoPicture):
            fetch(server.url, hosts=f"{server.url},{other.url}")
        assert other.requests == []


class Names:
    """A resolver that gives its answers in turn, and a network in which every public address is one server."""

    def __init__(self, server: ModelServer, *answers: list[str]) -> None:
        self.port = int(server.url.rsplit(":", 1)[1])
        self.answers = list(answers)
        self.connected: list[tuple[str, int]] = []

    def look_up(self, host: str, port: int) -> list[str]:  # noqa: ARG002 - a resolver's shape
        return self.answers.pop(0)

    def connect(self, host: str, port: int, timeout_s: float) -> socket.socket:
        self.connected.append((host, port))
        return dial.anywhere("127.0.0.1", self.port, timeout_s)

    def fetch(self, url: str) -> bytes:
        hosts = replace(parse("pictures.example"), public=public_by(self.look_up, connect=self.connect))
        return Download(hosts=hosts, timeout_s=20).fetch(url, deadline=Deadline.after(30))


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server with a certificate for pictures.example that is trusted here."""
    context, trusted = tls.certified(tmp_path, "pictures.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    connection.tls.cache_clear()
    with ModelServer(tls=context) as running:
        running.play(serving(png()))
        yield running
    connection.tls.cache_clear()


def test_a_picture_comes_over_tls_from_the_address_that_was_checked(secure: ModelServer) -> None:
    names = Names(secure, [PUBLIC], ["127.0.0.1"])
    assert names.fetch("https://pictures.example/p.png") == png()
    assert names.connected == [(PUBLIC, 443)]
    assert secure.requests[0].headers["host"] == "pictures.example"


def test_a_name_that_turns_to_a_private_address_is_forbidden(secure: ModelServer) -> None:
    names = Names(secure, [PUBLIC], ["10.0.0.1"])
    names.fetch("https://pictures.example/p.png")
    with pytest.raises(NoPicture) as failed:
        names.fetch("https://pictures.example/p.png")
    assert failed.value.code == "picture_forbidden"
    assert len(names.connected) == len(secure.requests) == 1


def test_a_certificate_of_another_name_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, trusted = tls.certified(tmp_path, "elsewhere.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    connection.tls.cache_clear()
    with ModelServer(tls=context) as server, pytest.raises(Unreachable):
        Names(server, [PUBLIC]).fetch("https://pictures.example/p.png")
    connection.tls.cache_clear()
    assert server.requests == []
