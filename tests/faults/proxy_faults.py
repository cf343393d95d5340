"""What the faulty proxy does to which request: its settings, its dice and its counters."""

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qs

from tests.faults import wire

# Nothing applied: throttle, server_error, unavailable, conflict, closed. Applied: lost, error_after, delay.
KINDS = ("throttle", "server_error", "unavailable", "conflict", "closed", "lost", "error_after", "delay")

_SIGNED_FOR = re.compile(r"AWS4-HMAC-SHA256 Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request")
_SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How often (a share, 0 to 1), what (see KINDS) and where to strike; no services means all of them."""

    rate: float = 0.0
    kinds: tuple[str, ...] = ("throttle", "server_error", "closed", "lost", "error_after", "delay")
    seed: int = 0
    services: tuple[str, ...] = ()
    delay_ms: int = 50

    def changed(self, given: Any) -> "Settings":
        """These settings with the given ones in their place; a ValueError says what is wrong with them."""
        names = {field.name for field in fields(self)}
        if not isinstance(given, Mapping) or not set(given) <= names:
            raise ValueError(f"an object with some of {sorted(names)} is wanted")
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return replace(self, **{**given, **lists}).valid()

    def valid(self) -> "Settings":
        """These settings, or a ValueError."""
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float) or not 0 <= self.rate <= 1:
            raise ValueError("rate is a number from 0 to 1")
        if not isinstance(self.kinds, tuple) or not self.kinds or not set(self.kinds) <= set(KINDS):
            raise ValueError(f"kinds is a list of some of {list(KINDS)}")
        if not isinstance(self.services, tuple) or not all(isinstance(name, str) for name in self.services):
            raise ValueError("services is a list of names such as dynamodb")
        if not all(type(number) is int and number >= 0 for number in (self.seed, self.delay_ms)):
            raise ValueError("seed and delay_ms are whole numbers from 0")
        return self


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as the proxy sees it; service "" if no AWS SDK has signed it."""

    service: str
    operation: str
    protocol: str
    body: bytes

    @classmethod
    def read(cls, headers: Any, *, method: str, path: str, body: bytes) -> "Request":
        """Finds service, operation and protocol in a request's head."""
        signed = _SIGNED_FOR.match(headers.get("Authorization", ""))
        service = signed.group(1) if signed else ""
        target = headers.get("X-Amz-Target", "")
        if target:
            return cls(service=service, operation=target.rsplit(".", 1)[-1], protocol="json", body=body)
        if "x-www-form-urlencoded" in headers.get("Content-Type", "") and service:
            action = parse_qs(body.decode("utf-8", "replace")).get("Action", [""])[0]
            return cls(service=service, operation=action, protocol="query", body=body)
        protocol = "rest-xml" if service == "s3" else "rest-json"
        return cls(service=service, operation=f"{method} {path.partition('?')[0]}", protocol=protocol, body=body)

    def takes(self, kind: str) -> bool:
        """Whether this kind of fault can befall it: only writes to a table meet a transaction."""
        return kind != "conflict" or self.operation in (*_SINGLE_WRITES, "TransactWriteItems")

    def error(self, kind: str) -> wire.WireError:
        """What its service answers when it refuses it."""
        if kind == "throttle":
            return wire.throttled(self.service)
        if kind == "conflict":
            return self._conflict()
        return wire.unavailable() if kind == "unavailable" else wire.server_error(self.service)

    def _conflict(self) -> wire.WireError:
        if self.operation in _SINGLE_WRITES:
            return wire.conflict()
        others = len(json.loads(self.body)["TransactItems"]) - 1
        return wire.canceled(["TransactionConflict", *[None] * others])


class Judge:
    """Decides, by seeded dice, what befalls each request, and keeps count; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.valid()
        self._lock = threading.Lock()
        self._dice = random.Random(settings.seed)
        self._counted: Counter[str] = Counter()
        self._struck: dict[str, Counter[str]] = {}

    def sentence(self, request: Request) -> str | None:
        """The kind of fault that befalls this request, or None."""
        with self._lock:
            if not request.service:
                self._counted["other"] += 1
                return None
            self._counted["calls"] += 1
            kind = self._throw(request)
            if kind is not None:
                self._counted["struck"] += 1
                operation = f"{request.service} {request.operation}"
                self._struck.setdefault(kind, Counter())[operation] += 1
            return kind

    def upstream_failed(self) -> None:
        """Counts a request that the upstream itself did not answer."""
        with self._lock:
            self._counted["upstream_failures"] += 1

    def control(self, method: str, body: bytes) -> dict[str, Any]:
        """Reads (GET), changes (PUT) or resets the counters of (DELETE) the judge; a ValueError if it cannot be."""
        with self._lock:
            if method == "PUT":
                self.settings = self.settings.changed(json.loads(body))
                self._dice = random.Random(self.settings.seed)
            elif method == "DELETE":
                self._counted.clear()
                self._struck.clear()
            return {**asdict(self.settings), "counters": self._counters()}

    def _throw(self, request: Request) -> str | None:
        settings = self.settings
        if settings.services and request.service not in settings.services:
            return None
        if self._dice.random() >= settings.rate:
            return None
        kinds = [kind for kind in settings.kinds if request.takes(kind)]
        return self._dice.choice(kinds) if kinds else None

    def _counters(self) -> dict[str, Any]:
        names = ("calls", "struck", "other", "upstream_failures")
        kinds = {kind: dict(operations) for kind, operations in self._struck.items()}
        return {**{name: self._counted[name] for name in names}, "by_kind": kinds}
