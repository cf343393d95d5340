"""moto behind a real HTTP endpoint: inside `mock_aws`, in a thread of this process, without moto's server extras."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto import mock_aws
from moto.core.models import botocore_stubber

_SIGNED_FOR = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")


@contextmanager
def moto_over_http() -> Iterator[str]:
    """The URL of an endpoint that answers as moto does; its data is gone afterwards."""
    with mock_aws():
        server = _Server(("127.0.0.1", 0), _Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class _Server(ThreadingHTTPServer):
    """moto is not made for threads, so it is asked one thing at a time."""

    daemon_threads = True
    turn = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.turn:
            status, headers, answer = self._ask_moto(body)
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding"):
                self.send_header(name, str(value))
        content = answer.encode() if isinstance(answer, str) else answer
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_any  # noqa: N815 - http.server's names

    def _ask_moto(self, body: bytes) -> tuple[int, Any, Any]:
        signed = _SIGNED_FOR.search(self.headers.get("Authorization", ""))
        if signed is None:
            return 403, {}, "unsigned"
        region, service = signed.groups()
        # moto knows a service by its address on AWS.
        url = f"https://{service}.{region}.amazonaws.com{self.path}"
        headers = HTTPHeaders.from_dict(dict(self.headers.items()))
        request = AWSPreparedRequest(self.command, url, headers, body, stream_output=False)
        return botocore_stubber.process_request(request) or (404, {}, "not found")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Says nothing."""
