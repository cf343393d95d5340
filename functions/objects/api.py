"""Rooms and counters: named objects over HTTP, by example."""

from __future__ import annotations

import functools
import re
from typing import Any

from isolane.api import Answer, Api, Request
from isolane.bindings import Bindings
from isolane.errors import InvalidRequest
from isolane.objects import Called
from isolane.serving import serving
from isolane.shapes import Shape
from isolane.submissions import LONGEST_KEY
from isolane.task import timestamp
from objects.room import Room
from objects.tickets import Tickets
from web import document

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class NamedObjects:
    """The handlers, over the objects."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def join(self, request: Request, *, room: str) -> Answer:
        called = self._call(request, Room, _room(room), "join", _who(request))
        return _answer(called, {"room": room, "members": called.value})

    def room(self, request: Request, *, room: str) -> Answer:
        state = self._app.objects.get(Room, _room(room), deadline=request.deadline).look()
        return Answer(body={"room": room, **_as_json(state)})

    def close(self, request: Request, *, room: str) -> Answer:
        name, body = _room(room), request.json_object()
        _shape("ClosingRequest").check(body)
        at_ms = self._app.objects.now_ms() + int(body["afterSeconds"]) * 1000
        self._app.objects.get(Room, name, deadline=request.deadline).close_at(at_ms)
        return Answer(body={"room": room, "closingAt": timestamp(at_ms)})

    def next(self, request: Request, *, counter: str) -> Answer:
        called = self._call(request, Tickets, _counter(counter), "next")
        return _answer(called, {"counter": counter, "value": called.value})

    def counter(self, request: Request, *, counter: str) -> Answer:
        value = self._app.objects.get(Tickets, _counter(counter), deadline=request.deadline).value
        return Answer(body={"counter": counter, "value": value})

    def _call(self, request: Request, kind: type, name: str, method: str, *args: Any) -> Called:
        return self._app.objects.call(kind, name, method, *args, command=_command(request), deadline=request.deadline)


def _answer(called: Called, body: dict[str, Any]) -> Answer:
    return Answer(body=body, headers={"Idempotent-Replayed": "true"} if called.replayed else {})


def _as_json(state: dict[str, Any]) -> dict[str, Any]:
    """A room's state; what does not apply is left out."""
    closing = {"closingAt": timestamp(state["alarm_at_ms"])} if state["alarm_at_ms"] is not None else {}
    return {"members": state["members"], **({"closed": True} if state["closed"] else {}), **closing}


@functools.cache
def _shape(name: str) -> Shape:
    return Shape(name, schemas=document.schemas())


def _room(name: str) -> str:
    return f"room:{_checked(name)}"


def _counter(name: str) -> str:
    return f"counter:{_checked(name)}"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidRequest("A name has 1 to 64 letters, digits, - and _, and begins with neither of the latter.")
    return name


def _who(request: Request) -> str:
    who = request.query.get("who", "")
    _shape("MemberName").check(who)
    return who


def _command(request: Request) -> str | None:
    """The caller's Idempotency-Key, which is nobody else's."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY:
        raise InvalidRequest(f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    return f"{len(request.caller.name)}:{request.caller.name}:{key}"


def build(app: Bindings) -> Api:
    """The routes of this function."""
    objects, api = NamedObjects(app), Api(callers=app.callers, posts=app.posts)
    api.route("POST", "/rooms/<room>/join", objects.join)
    api.route("GET", "/rooms/<room>", objects.room)
    api.route("PUT", "/rooms/<room>/closing", objects.close)
    api.route("POST", "/counters/<counter>/next", objects.next)
    api.route("GET", "/counters/<counter>", objects.counter)
    return api


handler = serving(build)
"""What Lambda calls."""
