"""Outgoing calls against a server with bad manners: every call ends in time, in size, and in one of our words."""

from __future__ import annotations

import gzip
import json
import socket
import time
import traceback
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from typing import Any

import pytest

from isolane import connection, dial, http, public_dial
from isolane.deadline import Deadline
from isolane.errors import (
    AddressForbidden,
    ConfigurationError,
    OutgoingError,
    ReplyTooLarge,
    TimedOut,
    Unreachable,
)
from tests.doubles import steps, tls
from tests.doubles.model_server import ModelServer
from tests.waiting import wait_until

SECRET = "sk-0123456789"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def call(url: str, **other: Any) -> http.Reply:
    asked: dict[str, Any] = {
        "headers": {"Authorization": f"Bearer {SECRET}"},
        "body": b"{}",
        "deadline": Deadline.after(30),
        "timeout_s": 10,
        "max_bytes": 100_000,
        **other,
    }
    return http.request(asked.pop("method", "POST"), url, **asked)


def calling_threads() -> list[Thread]:
    return [thread for thread in threads() if thread.name == "time-limit"]


def assert_that_it_times_out(url: str, *, limit_s: float, **other: Any) -> None:
    started_s = time.monotonic()
    with pytest.raises(TimedOut, match=r"^timed out after \d+ ms$") as failed:
        call(url, timeout_s=limit_s, **other)
    assert limit_s <= time.monotonic() - started_s < limit_s + 3
    assert failed.value.retryable
    wait_until(lambda: not calling_threads(), description="the thread of the call that was given up has ended")


def test_a_reply_is_status_headers_in_lower_case_and_body(server: ModelServer) -> None:
    server.play(steps.status(418, "short and stout", headers={"X-Pot": "Tea", "Set-Cookie": "a=1"}))
    reply = call(f"{server.url}/pot?full=1")
    assert (reply.status, reply.body, reply.headers["x-pot"]) == (418, b"short and stout", "Tea")


def test_a_request_is_sent_as_it_was_given(server: ModelServer) -> None:
    call(f"{server.url}/v1/x%2Fy?a=b%20c", body='{"é": 1}'.encode(), headers={"X-One": "1"})
    [request] = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/x%2Fy?a=b%20c", '{"é": 1}')
    assert request.headers["x-one"] == "1"
    assert request.headers["host"] == server.url.removeprefix("http://")


def test_a_server_is_asked_not_to_compress_and_gets_no_cookie_back(server: ModelServer) -> None:
    server.play(steps.status(200, headers={"Set-Cookie": "a=1"}))
    for _ in range(2):
        call(server.url)
    assert [request.headers.get("accept-encoding") for request in server.requests] == ["identity"] * 2
    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


def test_a_get_has_no_body(server: ModelServer) -> None:
    server.play(steps.status(200, "found"))
    assert call(server.url, method="GET", body=None).body == b"found"
    assert server.requests[0].body == ""


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(server: ModelServer, code: int) -> None:
    with ModelServer() as elsewhere:
        server.play(steps.status(code, headers={"Location": elsewhere.url}))
        reply = call(server.url)
        assert (reply.status, reply.headers["location"]) == (code, elsewhere.url)
        assert elsewhere.requests == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_no_status_is_tried_again(server: ModelServer, code: int) -> None:
    server.play(steps.status(code, headers={"Retry-After": "0"}))
    assert call(server.url).status == code
    assert len(server.requests) == 1


def test_proxies_in_the_environment_are_not_used(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert call(server.url).status == 200


@pytest.mark.parametrize(
    "step",
    [
        steps.silent(),
        steps.slow_headers(every_s=0.05),
        steps.slow_body(every_s=0.05),
        steps.score(delay_s=60),
    ],
    ids=["silent", "a byte of the headers at a time", "a byte of the body at a time", "slow to begin"],
)
def test_a_slow_server_cannot_stretch_the_limit(server: ModelServer, step: steps.Step) -> None:
    server.play(step)
    assert_that_it_times_out(server.url, limit_s=0.4)


def test_the_deadline_counts_where_less_is_left_than_the_limit(server: ModelServer) -> None:
    server.play(steps.slow_body(every_s=0.05))
    started_s = time.monotonic()
    with pytest.raises(TimedOut):
        call(server.url, timeout_s=30, deadline=Deadline.after(0.3))
    assert 0.3 <= time.monotonic() - started_s < 3


@pytest.mark.parametrize(("timeout_s", "left_s"), [(0, 30), (10, 0), (10, -1)])
def test_without_time_nothing_is_sent(server: ModelServer, timeout_s: float, left_s: float) -> None:
    with pytest.raises(TimedOut, match="timed out after 0 ms"):
        call(server.url, timeout_s=timeout_s, deadline=Deadline.after(left_s))
    assert server.requests == []


def test_a_look_up_that_hangs_cannot_stretch_the_limit(server: ModelServer) -> None:
    """Also when it succeeds at last: the connection that nobody waits for is cut, and no request is sent on it."""
    release: list[bool] = []

    def connect(host: str, port: int, timeout_s: float) -> socket.socket:
        wait_until(lambda: release, description="the look-up may answer")
        return dial.anywhere(host, port, timeout_s)

    started_s = time.monotonic()
    with pytest.raises(TimedOut):
        call(server.url, timeout_s=0.2, connect=connect)
    assert time.monotonic() - started_s < 3
    release.append(True)
    wait_until(lambda: not calling_threads(), description="the look-up's thread has ended")
    assert server.requests == []


def test_another_way_to_connect_decides_about_the_address() -> None:
    """The place for a check of addresses: what refuses to connect is a server that cannot be reached."""
    asked: list[tuple[str, int]] = []

    def refuse(host: str, port: int, _timeout_s: float) -> socket.socket:
        asked.append((host, port))
        raise OSError("a private address")

    with pytest.raises(Unreachable):
        call("https://images.example/x", connect=refuse)
    with pytest.raises(Unreachable):
        call("http://[::1]:8080/x", connect=refuse)
    assert asked == [("images.example", 443), ("::1", 8080)]


@pytest.mark.parametrize("framing", ["length", "close", "chunked"])
def test_a_body_without_end_is_not_read_beyond_its_limit(server: ModelServer, framing: str) -> None:
    server.play(steps.huge_body(framing=framing))
    with pytest.raises(ReplyTooLarge) as failed:
        call(server.url)
    assert not failed.value.retryable


def test_a_body_of_exactly_the_limit_is_read(server: ModelServer) -> None:
    server.play(steps.status(200, "x" * 1_000))
    assert len(call(server.url, max_bytes=1_000).body) == 1_000
    with pytest.raises(ReplyTooLarge):
        call(server.url, max_bytes=999)


def test_a_chunk_whose_size_never_ends_is_broken_off(server: ModelServer) -> None:
    server.play(steps.endless_line())
    with pytest.raises(Unreachable):
        call(server.url)


def test_a_small_body_that_becomes_a_large_one_is_refused(server: ModelServer) -> None:
    """And it is refused before it is large: it never lies in memory whole."""
    assert len(steps.bomb()) < 100_000
    server.play(steps.gzip_bomb())
    tracemalloc.start()
    try:
        with pytest.raises(ReplyTooLarge):
            call(server.url)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def compressed(data: bytes, *, encoding: str = "gzip") -> steps.Step:
    return {**steps.status(200, headers={"Content-Encoding": encoding}), "body_hex": data.hex()}


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_body_that_was_compressed_all_the_same_is_read(server: ModelServer, pack: Callable[[bytes], bytes]) -> None:
    server.play(compressed(pack(b"x" * 1_000)))
    assert call(server.url, max_bytes=1_000).body == b"x" * 1_000


@pytest.mark.parametrize(
    "data",
    [b"not compressed", gzip.compress(b"x" * 1_000)[:-9], gzip.compress(b"x") * 2, gzip.compress(b"x") + b"!", b""],
    ids=["plain", "cut", "two in one", "more behind it", "empty"],
)
def test_a_body_that_is_not_what_its_encoding_says_is_unreadable(server: ModelServer, data: bytes) -> None:
    server.play(compressed(data))
    with pytest.raises(Unreachable):
        call(server.url)


@pytest.mark.parametrize(
    "step",
    [
        steps.reset(),
        steps.cut_body('{"half'),
        steps.raw("HTTP/1.1 200 OK\r\nContent-Le"),
        steps.raw("SSH-2.0-x\r\n"),
        steps.raw(""),
    ],
    ids=["reset", "cut in the body", "cut in the headers", "another protocol", "closed at once"],
)
def test_a_server_that_breaks_off_is_unreachable(server: ModelServer, step: steps.Step) -> None:
    server.play(step)
    with pytest.raises(Unreachable) as failed:
        call(server.url)
    assert failed.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("host", ["127.0.0.1:1", "nobody.invalid", f"{'a' * 64}.example", "xn--a.example."])
def test_a_host_that_is_not_there_is_unreachable(host: str) -> None:
    with pytest.raises(Unreachable):
        call(f"http://{host}/", timeout_s=20)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "//example.com/",
        "example.com",
        "http://",
        "http:///path",
        "http://[::1",
        "http://host:99999/",
        f"http://user:{SECRET}@example.com/",
        "http://example.com/a b",
        "http://example.com/\r\nX-Evil: 1",
        "http://exämple.com/",
        "",
    ],
)
def test_a_url_that_cannot_be_called_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        call(url)
    assert SECRET not in repr(refused.value)


@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", f"Bearer {SECRET}\n"),
        ("X", f"{SECRET}\r\nX-Evil: 1"),
        ("X", f"{SECRET}é"),
        (f"X {SECRET}", ""),
    ],
    ids=["a newline at the end", "a second header", "not ASCII", "a name with a space"],
)
def test_a_header_that_cannot_be_sent_is_refused_without_being_repeated(
    server: ModelServer, header: tuple[str, str]
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        call(server.url, headers=dict([header]))
    assert SECRET not in repr(refused.value)
    assert server.requests == []


FAILING = [
    steps.reset(),
    steps.cut_body(SECRET),
    steps.raw(f"{SECRET}\r\n"),
    steps.raw(f"HTTP/1.1 200 OK\r\n{SECRET}\r\n\r\n"),
    steps.huge_body(framing="close"),
    steps.slow_headers(every_s=0.05),
]


@pytest.mark.parametrize("step", FAILING, ids=lambda step: step["kind"])
def test_no_error_and_no_log_carries_a_key_or_a_body(
    server: ModelServer, step: steps.Step, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.play(step)
    with pytest.raises(OutgoingError) as failed:
        call(server.url, timeout_s=0.5, body=SECRET.encode())
    shown = "".join(traceback.format_exception(failed.value))
    assert SECRET not in shown + repr(failed.value) + caplog.text


def test_a_reply_shows_no_body() -> None:
    assert SECRET not in repr(http.Reply(status=200, headers={}, body=SECRET.encode()))


def test_no_connection_and_no_thread_is_left(server: ModelServer) -> None:
    """Each warning of an unclosed socket fails the test, so the sockets of calls that ended badly count too."""
    for step in [steps.score(), *FAILING]:
        server.play(step)
        try:
            call(server.url, timeout_s=0.3)
        except OutgoingError:
            continue
    wait_until(lambda: not calling_threads(), description="the threads of all calls have ended")


def test_calls_side_by_side_do_not_mix_their_answers(server: ModelServer) -> None:
    server.play(*(steps.status(200, str(number)) for number in range(33)))
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: call(server.url), range(32)))
    assert sorted(int(reply.body) for reply in replies) == list(range(32))


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server whose certificate only those trust who were given the file."""
    context, trusted = tls.certified(folder, "127.0.0.1")
    with ModelServer(tls=context) as server:
        yield server.url, trusted


def test_tls_is_spoken_with_those_whose_certificate_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tls_server(tmp_path) as (url, trusted):
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        connection.tls.cache_clear()
        assert json.loads(call(url, timeout_s=20).body)["object"] == "chat.completion"
        with pytest.raises(Unreachable):
            call(url.replace("127.0.0.1", "localhost"))
    connection.tls.cache_clear()


def test_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    with tls_server(tmp_path) as (url, _), pytest.raises(Unreachable):
        call(url)


def test_a_handshake_that_hangs_cannot_stretch_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        assert_that_it_times_out(f"https://127.0.0.1:{mute.getsockname()[1]}/", limit_s=0.4)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "0", "0xa9fea9fe", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_only_public_addresses_are_connected_to_where_that_is_asked_for(server: ModelServer, host: str) -> None:
    """The address is forbidden for good, which no second try changes, and whoever called is told that it is."""
    with pytest.raises(AddressForbidden) as failed:
        call(server.url.replace("127.0.0.1", host), connect=public_dial.public)
    assert not failed.value.retryable
    assert server.requests == []
