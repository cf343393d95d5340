"""A connection of urllib3, tamed: it goes where it is told, checks certificates, and takes no half of an answer."""

from __future__ import annotations

import ssl
from email.errors import MissingHeaderBodySeparatorDefect
from functools import cache
from http.client import HTTPException, HTTPResponse
from socket import socket
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import Url
from urllib3.util.ssl_ import create_urllib3_context

from isolane.dial import Line


def pool(url: Url, *, line: Line, timeout_s: float) -> HTTPConnectionPool:
    """A pool for one use: its connection goes through `line`, and each of its waits lasts `timeout_s` at the most."""
    host, port = str(url.host), url.port
    timeout = Timeout(connect=timeout_s, read=timeout_s)
    if url.scheme == "https":
        return _HttpsPool(host, port, timeout=timeout, line=line, ssl_context=tls(), cert_reqs="CERT_REQUIRED")
    return _HttpPool(host, port, timeout=timeout, line=line)


class _WholeHeaders(HTTPResponse):
    """Refuses headers that were cut or are none, where the library logs them, echoed keys included, and goes on."""

    def begin(self) -> None:
        super().begin()
        if any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in self.msg.defects):
            raise HTTPException("malformed headers")


class _ThroughLine:
    """Makes a connection of urllib3 through the call's line."""

    host: str
    port: int
    response_class: type[HTTPResponse] = _WholeHeaders

    def __init__(self, *args: Any, line: Line, **others: Any) -> None:
        super().__init__(*args, **others)
        self._line = line

    def _new_conn(self) -> socket:
        return self._line.connect(self.host, self.port)


class _HttpConnection(_ThroughLine, HTTPConnection):
    pass


class _HttpsConnection(_ThroughLine, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _HttpConnection


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _HttpsConnection


@cache
def tls() -> ssl.SSLContext:
    """Made once: reading the certificates of all authorities costs more than the rest of a call."""
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    context.load_default_certs()
    return context
