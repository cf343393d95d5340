"""Connecting to a host: the one place where a name becomes an address, and an address a connection.

Whoever must not connect to every address hands another `Dial` to `http.request`, such as `public_dial.public`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TypeAlias

Dial: TypeAlias = Callable[[str, int, float], socket.socket]
"""Host, port and seconds -> a connected socket.

Raises OSError, UnicodeError for a name that cannot be one (both: the server is unreachable, and later it may not be),
or an OutgoingError, which whoever called gets as it is.
"""


def anywhere(host: str, port: int, timeout_s: float) -> socket.socket:
    """Connects to the first of the host's addresses that answers; each is given `timeout_s`."""
    connected = socket.create_connection((host, port), timeout=timeout_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


class Line:
    """The connection that one call uses, so that another thread can cut it."""

    def __init__(self, dial: Dial, *, timeout_s: float) -> None:
        self._dial = dial
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._end: socket.socket | None = None
        self._is_cut = False

    def connect(self, host: str, port: int) -> socket.socket:
        """Dials; the caller closes what it gets, and then the line."""
        connected = self._dial(host, port, self._timeout_s)
        with self._lock:
            # A duplicate, because TLS takes the first one over; a shutdown of either is one of both.
            self._end = connected.dup()
            if self._is_cut:  # while it was dialling
                self._shut_down()
        return connected

    def cut(self) -> None:
        """Ends whatever is reading or writing, now or later."""
        with self._lock:
            self._is_cut = True
            self._shut_down()

    def close(self) -> None:
        with self._lock:
            if self._end is not None:
                self._end.close()
                self._end = None

    def _shut_down(self) -> None:
        if self._end is not None:
            with suppress(OSError):  # the other side may have hung up already
                self._end.shutdown(socket.SHUT_RDWR)
