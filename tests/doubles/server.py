"""What every double of a server is made of: a record of what came, and answers that no good server gives."""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import struct
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, ClassVar, Self, TypeAlias

from tests.doubles.steps import Step, bomb

_ENDLESS = 1_000_000_000


@dataclass(kw_only=True)
class Recorded:
    """One request: what came, and from when to when it was being answered (seconds of the monotonic clock)."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: str = field(repr=False)
    started_s: float
    ended_s: float | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Record:
    """What came; shared by all threads of a server."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.stopping = Event()
        self.forget()

    def forget(self) -> None:
        with self.lock:
            self.requests: list[Recorded] = []
            self.max_concurrency = 0
            self._under_way = 0

    @contextmanager
    def recording(self, **request: Any) -> Iterator[None]:
        recorded = Recorded(**request, started_s=time.monotonic())
        with self.lock:
            self.requests.append(recorded)
            self._under_way += 1
            self.max_concurrency = max(self.max_concurrency, self._under_way)
        try:
            yield
        finally:
            with self.lock:
                recorded.ended_s = time.monotonic()
                self._under_way -= 1

    def as_json(self) -> dict[str, Any]:
        """What GET /requests answers."""
        with self.lock:
            requests = [asdict(recorded) for recorded in self.requests]
        return {"requests": requests, "maxConcurrency": self.max_concurrency}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Server:
    """A server on 127.0.0.1; `with` starts and stops it."""

    def __init__(self, handler: type[Handler], record: Record, *, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.record = record
        self._scheme = "http" if tls is None else "https"
        self._http = _Http(("127.0.0.1", port), type("Handler", (handler,), {"record": record, "scheme": self._scheme}))
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.record.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve(self) -> None:
        """Until the process is stopped."""
        with suppress(KeyboardInterrupt):
            self._http.serve_forever()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What a client of the API is given."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Recorded]:
        return self.record.requests

    @property
    def max_concurrency(self) -> int:
        return self.record.max_concurrency


class Handler(BaseHTTPRequestHandler, ABC):
    """Keeps the record, takes the script, and leaves the rest to `answer`."""

    record: ClassVar[Any]
    scheme: ClassVar[str]

    @abstractmethod
    def answer(self, body: str) -> None:
        """Answers one request that was recorded."""

    @abstractmethod
    def script(self, told: Any) -> None:
        """Takes what PUT /script says."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # who called may have hung up, which is what some tests are about
            super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.record.recording(method=self.command, path=self.path, headers=headers, body=body):
            self.answer(body)

    def do_GET(self) -> None:
        if self.path == "/requests":
            self.reply_json(self.record.as_json())
        else:
            self.do_POST()

    def do_PUT(self) -> None:
        self.script(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.reply_json({})

    def do_DELETE(self) -> None:
        self.record.forget()
        self.reply_json({})

    def log_message(self, *_: object) -> None:
        """Quiet: the record says more."""

    def reply_json(self, value: Any, *, status: int = 200) -> None:
        self.reply(json.dumps(value).encode(), status=status, headers={"Content-Type": "application/json"})

    def reply(self, body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self, data: Iterator[bytes], *, every_s: float) -> None:
        for piece in data:
            self.wfile.write(piece)
            if self.record.stopping.wait(every_s):
                return


def _forever(data: bytes) -> Iterator[bytes]:
    while True:
        yield data


def _status(handler: Handler, step: Step) -> None:
    body = bytes.fromhex(step["body_hex"]) if "body_hex" in step else step["body"].encode()
    handler.reply(body, status=step["status"], headers=step["headers"])


def _slow_headers(handler: Handler, step: Step) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    handler.drip(_forever(b"x"), every_s=step["every_s"])


def _slow_body(handler: Handler, step: Step) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _ENDLESS)
    handler.drip(_forever(b" "), every_s=step["every_s"])


def _silent(handler: Handler, _step: Step) -> None:
    handler.record.stopping.wait()


def _huge_body(handler: Handler, step: Step) -> None:
    """With its length said, without it, or in chunks; endless in any case."""
    said = {"length": b"Content-Length: %d\r\n" % _ENDLESS, "close": b"", "chunked": b"Transfer-Encoding: chunked\r\n"}
    piece = b" " * 65_536
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + said[step["framing"]] + b"\r\n")
    handler.drip(_forever(b"10000\r\n" + piece + b"\r\n" if step["framing"] == "chunked" else piece), every_s=0)


def _endless_line(handler: Handler, _step: Step) -> None:
    """A chunk whose size never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    handler.drip(_forever(b"1;" + b"x" * 65_534), every_s=0)


def _reset(handler: Handler, _step: Step) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _raw(handler: Handler, step: Step) -> None:
    handler.wfile.write(step["data"].encode())


def _gzip_bomb(handler: Handler, _step: Step) -> None:
    handler.reply(bomb(), headers={"Content-Encoding": "gzip"})


Answer: TypeAlias = Callable[[Any, Step], None]

ANSWERS: dict[str, Answer] = {
    "status": _status,
    "slow_headers": _slow_headers,
    "slow_body": _slow_body,
    "silent": _silent,
    "huge_body": _huge_body,
    "endless_line": _endless_line,
    "reset": _reset,
    "raw": _raw,
    "gzip_bomb": _gzip_bomb,
}
"""What a server of any kind can be told to do with a request, by the kind of the step."""


def main(make: Callable[..., Server], *, description: str, port: int) -> None:
    """Runs a server until it is stopped; says where it is."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=port)
    server = make(port=parser.parse_args().port)
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    server.serve()
