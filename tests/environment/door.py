"""A door for containers: an address that they reach, behind which lies what listens on this machine's loopback only.

MiniStack runs code for whoever asks, so that it listens for this machine alone. While the door is open, containers
find it at the address of Docker's bridge, which nobody outside this machine can reach.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

from tests.environment.containers import DESKTOP
from tests.environment.emulator import Emulator
from tests.environment.places import port_of

CHUNK = 65_536


class _Passage(BaseRequestHandler):
    """One connection, handed on in both directions until either side has had enough."""

    server: "_Door"

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.inner_port)) as inside:
            back = threading.Thread(target=_carry, args=(inside, self.request), daemon=True)
            back.start()
            _carry(self.request, inside)
            back.join()


class _Door(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: str, port: int) -> None:
        self.inner_port = port
        super().__init__((address, port), _Passage)


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # either side may hang up
        while data := source.recv(CHUNK):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def opened(url: str, *, outside: str) -> Iterator[None]:
    """Let what answers at the one address be reached at the other, too, for as long as the block runs."""
    address, port = urlsplit(outside).hostname, port_of(url)
    if outside == url or address is None or address == DESKTOP or _answers(address, port):
        yield
        return
    with _Door(address, port) as door:
        threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        try:
            yield
        finally:
            door.shutdown()


@contextmanager
def for_functions(emulator: Emulator, url: str) -> Iterator[str]:
    """What the functions of an emulator must say to reach what answers here at this address."""
    outside = emulator.seen_by_functions(url)
    with opened(url, outside=outside):
        yield outside


def _answers(address: str, port: int) -> bool:
    """Whether somebody listens there already, as MiniStack does with BIND_HOST=0.0.0.0."""
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError:
        return False
    return True
