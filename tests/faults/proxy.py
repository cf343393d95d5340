"""A faulty HTTP proxy between programs and an emulator of AWS: some calls are refused, some lose their answer.

    python -m tests.faults.proxy --port 4600 --upstream http://127.0.0.1:4566 [--rate 0.05] [--seed 7]

Programs take it as their endpoint. A request goes on with its own bytes and headers, Host too, so that signatures and
stage URLs hold. Only what an AWS SDK has signed can be struck; page loads and API calls pass. While it runs:

    GET    /_faults    settings and counters
    PUT    /_faults    some of {"rate": 0.05, "kinds": ["lost"], "seed": 7, "services": ["sqs"], "delay_ms": 50}
    DELETE /_faults    counters back to 0
"""

import argparse
import json
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

from tests.faults import wire
from tests.faults.proxy_faults import Judge, Request, Settings

CONTROL = "/_faults"

_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "expect", "proxy-connection"}
)
_NO_LINGER = struct.pack("ii", 1, 0)
# urllib3 would add these of its own where the request has none.
_UNASKED = ("accept-encoding", "user-agent")


class FaultyProxy(ThreadingHTTPServer):
    """The proxy: listens on `port` (0: any that is free), forwards to `upstream`, strikes as its judge says."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self, *, upstream: str, port: int = 0, host: str = "127.0.0.1", settings: Settings | None = None
    ) -> None:
        super().__init__((host, port), _Handler)
        self.judge = Judge(settings or Settings())
        self.pool = urllib3.connectionpool.connection_from_url(upstream, maxsize=64, timeout=urllib3.Timeout(60))

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection; one that is not to linger is reset, which a polite shutdown first would prevent."""
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(_NO_LINGER)) == _NO_LINGER:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what went wrong here; a client that hung up, or was killed, did not."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Stops listening and lets go of the upstream's connections."""
        super().server_close()
        self.pool.close()


@contextmanager
def running(*, upstream: str, port: int = 0, settings: Settings | None = None) -> Iterator[FaultyProxy]:
    """A proxy in a thread of this process."""
    proxy = FaultyProxy(upstream=upstream, port=port, settings=settings)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body of an answer leave in one piece.
    wbufsize = -1
    server: FaultyProxy

    def do_any(self) -> None:
        body = self._body()
        if self.path.partition("?")[0] == CONTROL:
            self._control(body)
        else:
            self._handle(Request.read(self.headers, method=self.command, path=self.path, body=body))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do_any  # noqa: N815 - http.server's names

    def _handle(self, request: Request) -> None:
        kind = self.server.judge.sentence(request)
        if kind in ("closed", "lost"):
            self._hang_up(request, applied=kind == "lost")
        elif kind == "error_after":
            self._forward(request)
            self._answer_error(request, error=wire.server_error(request.service))
        elif kind is not None and kind != "delay":
            self._answer_error(request, error=request.error(kind))
        else:
            answer = self._forward(request)
            if kind == "delay":
                time.sleep(self.server.judge.settings.delay_ms / 1000)
            self._relay(answer)

    def _forward(self, request: Request) -> urllib3.BaseHTTPResponse | None:
        headers = urllib3.HTTPHeaderDict()
        for name, value in self.headers.items():
            if name.lower() not in _HOP_BY_HOP:
                headers.add(name, value)
        for name in _UNASKED:
            if name not in headers:
                headers.add(name, urllib3.util.SKIP_HEADER)
        if request.body or self.command not in ("GET", "HEAD", "OPTIONS", "DELETE"):
            headers["Content-Length"] = str(len(request.body))
        try:
            return self._send(headers, body=request.body)
        except urllib3.exceptions.HTTPError:
            self.server.judge.upstream_failed()
            return None

    def _send(self, headers: urllib3.HTTPHeaderDict, *, body: bytes) -> urllib3.BaseHTTPResponse:
        return self.server.pool.urlopen(
            self.command,
            self.path,
            body=body or None,
            headers=headers,
            redirect=False,
            retries=False,
            decode_content=False,
            assert_same_host=False,
        )

    def _relay(self, answer: urllib3.BaseHTTPResponse | None) -> None:
        if answer is None:
            self._answer(502, {"content-type": "application/json"}, b'{"message": "The upstream did not answer."}')
            return
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP]
        length = answer.headers.get("content-length") if self.command == "HEAD" else None
        self._answer(answer.status, kept, answer.data, length=length)

    def _hang_up(self, request: Request, *, applied: bool) -> None:
        if applied:
            self._forward(request)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.close_connection = True

    def _answer_error(self, request: Request, *, error: wire.WireError) -> None:
        answer = wire.encode(error, service=request.service, protocol=request.protocol)
        self._answer(answer.status, answer.headers, answer.body)

    def _answer(self, status: int, headers: Any, body: bytes, *, length: str | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items() if isinstance(headers, Mapping) else headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _control(self, body: bytes) -> None:
        try:
            status, told = 200, self.server.judge.control(self.command, body)
        except ValueError as error:
            status, told = 400, {"error": "invalid_faults", "message": str(error)}
        self._answer(status, {"content-type": "application/json"}, json.dumps(told).encode())

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            """A trailer: nothing that a store reads."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Says nothing: the counters do."""


def main(arguments: list[str]) -> None:
    """Runs the proxy until it is told to end."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.proxy", description="A faulty proxy before an AWS emulator."
    )
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True, help="such as http://127.0.0.1:4566")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--rate", type=float, default=0.0, help="share of the calls that are struck, 0 to 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", help="comma-separated, see Settings")
    asked = parser.parse_args(arguments)
    given = {"rate": asked.rate, "seed": asked.seed} | ({"kinds": asked.kinds.split(",")} if asked.kinds else {})
    proxy = FaultyProxy(upstream=asked.upstream, port=asked.port, host=asked.host, settings=Settings().changed(given))
    sys.stdout.write(f"listening on {proxy.url}\n")
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        proxy.serve_forever()
    except KeyboardInterrupt:
        return
    finally:
        proxy.server_close()


if __name__ == "__main__":
    main(sys.argv[1:])
