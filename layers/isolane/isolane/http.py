"""Outgoing calls: one request, one reply, and a total limit on time and size that no server can stretch.

A call follows no redirect, repeats nothing, reads no proxy from the environment, and keeps no cookie and no connection
(a frozen function wakes up with dead ones). What a status means is up to whoever asked.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.util import Url, parse_url

from isolane import connection, dial, time_limit
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, ReplyTooLarge, Unreachable

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool

_PIECE_BYTES = 65_536
_GZIP_OR_ZLIB = 47
_BACKSTOP_S = 1.0
"""How much longer than its call a socket waits: the call is ended from outside, and this ends what that did not."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[ -~]*")
_URL = re.compile(r"https?://[!-~]+")
_DEFAULTS = {"accept-encoding": "identity", "user-agent": "isolane"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a server answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; several of one name are joined by commas."""
    body: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class _Call:
    method: str
    url: Url
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)
    limit_s: float
    max_bytes: int


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: Deadline,
    timeout_s: float,
    max_bytes: int,
    connect: dial.Dial = dial.anywhere,
) -> Reply:
    """Sends one request and reads its reply within `timeout_s` and the deadline, whichever ends first.

    `max_bytes` bounds the reply's body, decompressed. Raises TimedOut, Unreachable, ReplyTooLarge, what `connect`
    raises on purpose (AddressForbidden), and ConfigurationError for a URL or header that cannot be sent; none of them
    carries the URL, a header's value or a body.
    """
    call = _Call(
        method=method,
        url=checked_url(url),
        headers=_checked_headers(headers),
        body=body,
        limit_s=deadline.bounded(timeout_s),
        max_bytes=max_bytes,
    )
    line = dial.Line(connect, timeout_s=call.limit_s + _BACKSTOP_S)
    return time_limit.run(lambda: _exchange(call, line=line), limit_s=call.limit_s, give_up=line.cut)


def checked_url(url: str) -> Url:
    """The URL as `request` reads it. Raises ConfigurationError for one that it would not call."""
    try:
        parsed = parse_url(url)
    except LocationParseError:
        raise ConfigurationError("A URL to be called cannot be read.") from None
    if _URL.fullmatch(url) is None or parsed.host is None or parsed.auth is not None:
        raise ConfigurationError("A URL to be called must be http or https, with a host and without a password.")
    return parsed


def _checked_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Checked here, because the error of the library below carries the value, and the value may be a key."""
    for name, value in headers.items():
        if _HEADER_NAME.fullmatch(name) is None or _HEADER_VALUE.fullmatch(value) is None:
            raise ConfigurationError("A header to be sent has characters that no header can carry.")
    return {**_DEFAULTS, **{name.lower(): value for name, value in headers.items()}}


def _exchange(call: _Call, *, line: dial.Line) -> Reply:
    pool = connection.pool(call.url, line=line, timeout_s=call.limit_s + _BACKSTOP_S)
    with _in_our_words(), closing(line), closing(pool), closing(_send(call, pool)) as answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        body = _read(answer, max_bytes=call.max_bytes)
        plain = _decompressed(body, encoding=headers.get("content-encoding", ""), max_bytes=call.max_bytes)
        return Reply(status=answer.status, headers=headers, body=plain)


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except (HTTPError, OSError, UnicodeError, zlib.error) as error:
        # Without its cause, which may repeat what the server sent, and servers have been seen to echo keys.
        raise Unreachable(f"The server could not be reached, or broke off ({_kind(error)}).") from None


def _kind(error: Exception) -> str:
    """The name of what happened, which the library wraps in something vaguer."""
    inner = error.args[-1] if error.args else None
    return type(inner if isinstance(inner, Exception) else error).__name__


def _send(call: _Call, pool: HTTPConnectionPool) -> BaseHTTPResponse:
    return pool.urlopen(
        call.method,
        call.url.request_uri,
        body=call.body,
        headers=call.headers,
        retries=False,
        redirect=False,
        preload_content=False,
        decode_content=False,
        enforce_content_length=True,
    )


def _read(answer: BaseHTTPResponse, *, max_bytes: int) -> bytes:
    # read(), not stream(): the latter takes a chunk's size line of any length into memory.
    body = bytearray()
    while piece := answer.read(_PIECE_BYTES, decode_content=False):
        body += piece
        if len(body) > max_bytes:
            raise ReplyTooLarge
    return bytes(body)


def _decompressed(body: bytes, *, encoding: str, max_bytes: int) -> bytes:
    """For servers that compress though they were asked not to; more than one layer is nobody's honest answer."""
    if encoding.lower() in {"", "identity"}:
        return body
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    plain = unpacker.decompress(body, max_bytes + 1)
    if len(plain) > max_bytes:
        raise ReplyTooLarge
    if not unpacker.eof or unpacker.unused_data:
        raise zlib.error("not one whole compressed body")
    return plain
