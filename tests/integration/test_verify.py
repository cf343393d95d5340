"""`make verify` against a deployment that limits rates, and with what nobody can mean."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e import verify
from tests.e2e.verify import MOST_TRIES, Api, Recorder

KEPT_OUT = MOST_TRIES + 5


class Limiting(BaseHTTPRequestHandler):
    """Answers 429 more often than there are tries, then accepts; and it is healthy."""

    limited = 0

    def do_GET(self) -> None:
        self._answer(200, {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).limited += 1
        if type(self).limited <= KEPT_OUT:
            self._answer(429, {"error": "rate_limited"}, retry_after="0")
        else:
            self._answer(201, {"status": "accepted", "reserved": 1, "replayed": False})

    def _answer(self, status: int, body: object, *, retry_after: str = "1") -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Limiting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_who_is_kept_out_by_a_rate_limit_comes_again_as_often_as_it_takes(url: str) -> None:
    recorder = Recorder(api=Api(url=url, token=None), workshop="pottery")
    call = recorder.reserve("request-1", 1)
    assert (call.outcome, Limiting.limited) == ("accepted", KEPT_OUT + 1)
    assert recorder.calls == [call], "what was not looked at cannot have been decided"


@pytest.mark.parametrize("seed", ["one", "-1", "1.5"])
def test_a_seed_that_is_no_number_is_refused_in_a_sentence(
    url: str, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main({"URL": url, "SEED": seed}) == 2
    assert "SEED" in capsys.readouterr().out
