"""A model endpoint with bad manners: OpenAI's and Bedrock's, for completions and embeddings, answered by a script.

In a test:            with ModelServer() as server: server.play(score(80), status(500)); … server.base_url
As a process:         python -m tests.doubles.model_server --port 8099
Over HTTP, either:    PUT /script {"steps": [{"kind": "score", "score": 80}, …]}     each request takes the next step,
                                                                                     and the last one stays
                      GET /requests -> {"requests": […], "maxConcurrency": n}        DELETE /requests forgets them
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Event, Lock, Thread
from typing import Any, ClassVar

from tests.doubles.steps import Step, bomb, score

_NONCE = re.compile(r"<<<TEXT ([0-9a-f]{16,})>>>")
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


class Book:
    """The script and the record; shared by all threads of a server."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.stopping = Event()
        self.play(score(80))
        self.forget()

    def play(self, *steps: Step) -> None:
        """Each request takes the next step; the last one stays."""
        with self._lock:
            self._steps = list(steps)

    def forget(self) -> None:
        with self._lock:
            self.requests: list[Recorded] = []
            self.max_concurrency = 0
            self._under_way = 0

    @contextmanager
    def recording(self, **request: Any) -> Iterator[Step]:
        recorded = Recorded(**request, started_s=time.monotonic())
        with self._lock:
            self.requests.append(recorded)
            self._under_way += 1
            self.max_concurrency = max(self.max_concurrency, self._under_way)
            step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        try:
            yield step
        finally:
            with self._lock:
                recorded.ended_s = time.monotonic()
                self._under_way -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class ModelServer:
    """A server on 127.0.0.1; `with` starts and stops it."""

    def __init__(self, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.book = Book()
        self._scheme = "http" if tls is None else "https"
        handler = type("Handler", (_Handler,), {"book": self.book})
        self._http = _Http(("127.0.0.1", port), handler)
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.book.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve(self) -> None:
        self._http.serve_forever()

    def play(self, *steps: Step) -> None:
        self.book.play(*steps)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client is given."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Recorded]:
        return self.book.requests

    @property
    def max_concurrency(self) -> int:
        return self.book.max_concurrency


class _Handler(BaseHTTPRequestHandler):
    book: ClassVar[Book]

    def handle(self) -> None:
        with suppress(ConnectionError):  # who called may have hung up, which is what some tests are about
            super().handle()

    def do_POST(self) -> None:
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.book.recording(method=self.command, path=self.path, headers=headers, body=body) as step:
            self.book.stopping.wait(step.get("delay_s", 0))
            _ANSWERS[step["kind"]](self, step, body)

    def do_GET(self) -> None:
        if self.path != "/requests":
            return self.do_POST()
        requests = [asdict(recorded) for recorded in self.book.requests]
        return self.reply_json({"requests": requests, "maxConcurrency": self.book.max_concurrency})

    def do_PUT(self) -> None:
        self.book.play(*json.loads(self._body())["steps"])
        self.reply_json({})

    def do_DELETE(self) -> None:
        self.book.forget()
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
            if self.book.stopping.wait(every_s):
                return

    def _body(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()


def _forever(data: bytes) -> Iterator[bytes]:
    while True:
        yield data


def _content(handler: _Handler, step: Step, body: str) -> None:
    """A model's answer: the words of the step, with the nonce it was given, in the shape of the API asked."""
    found = _NONCE.search(body)
    text = step["content"].replace("{nonce}", found[1] if found else "")
    if handler.path.endswith("/converse"):
        message = {"role": "assistant", "content": [{"text": text}]}
        stop = step.get("stop", "end_turn")
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        return handler.reply_json(
            {"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}}
        )
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **step.get("message", {})},
        "finish_reason": step.get("stop", "stop"),
    }
    return handler.reply_json({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]})


def _embeddings(handler: _Handler, step: Step, body: str) -> None:
    """A vector for each text, in the shape of the API asked: Titan's for one, OpenAI's for many."""
    asked = json.loads(body)
    texts = asked["input"] if "input" in asked else [asked["inputText"]]
    if step["refuses"] and any(step["refuses"] in text for text in texts):
        message = f"The text is no good: {texts[0]}"
        return handler.reply_json(
            {"error": {"code": "invalid_input", "message": message}, "message": message}, status=400
        )
    vectors = [_vector(text, step=step, dimensions=asked.get("dimensions", 1_024)) for text in texts]
    if "inputText" in asked:
        return handler.reply_json({"embedding": vectors[0], "inputTextTokenCount": 3})
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return handler.reply_json({"object": "list", "data": data[::-1], "model": asked["model"]})


def _vector(text: str, *, step: Step, dimensions: int) -> Any:
    """How often each pair of letters is in the text, in one of so many places; or what the step has in its place."""
    for marked, value in step["bad"].items():
        if marked in text:
            return value
    vector = [0.0] * dimensions
    for first, second in pairwise(f" {text.lower()} "):
        vector[(ord(first) * 31 + ord(second)) % dimensions] += 1.0
    return vector


def _status(handler: _Handler, step: Step, _body: str) -> None:
    body = bytes.fromhex(step["body_hex"]) if "body_hex" in step else step["body"].encode()
    handler.reply(body, status=step["status"], headers=step["headers"])


def _slow_headers(handler: _Handler, step: Step, _body: str) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    handler.drip(_forever(b"x"), every_s=step["every_s"])


def _slow_body(handler: _Handler, step: Step, _body: str) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _ENDLESS)
    handler.drip(_forever(b" "), every_s=step["every_s"])


def _silent(handler: _Handler, _step: Step, _body: str) -> None:
    handler.book.stopping.wait()


def _huge_body(handler: _Handler, step: Step, _body: str) -> None:
    """With its length said, without it, or in chunks; endless in any case."""
    said = {"length": b"Content-Length: %d\r\n" % _ENDLESS, "close": b"", "chunked": b"Transfer-Encoding: chunked\r\n"}
    piece = b" " * 65_536
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + said[step["framing"]] + b"\r\n")
    handler.drip(_forever(b"10000\r\n" + piece + b"\r\n" if step["framing"] == "chunked" else piece), every_s=0)


def _endless_line(handler: _Handler, _step: Step, _body: str) -> None:
    """A chunk whose size never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    handler.drip(_forever(b"1;" + b"x" * 65_534), every_s=0)


def _reset(handler: _Handler, _step: Step, _body: str) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _raw(handler: _Handler, step: Step, _body: str) -> None:
    handler.wfile.write(step["data"].encode())


def _gzip_bomb(handler: _Handler, _step: Step, _body: str) -> None:
    handler.reply(bomb(), headers={"Content-Encoding": "gzip"})


_ANSWERS: dict[str, Callable[[_Handler, Step, str], None]] = {
    "content": _content,
    "embeddings": _embeddings,
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


def main() -> None:
    parser = argparse.ArgumentParser(description="A model endpoint with bad manners, on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=8099)
    server = ModelServer(port=parser.parse_args().port)
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        server.serve()


if __name__ == "__main__":
    main()
