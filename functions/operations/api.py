"""`GET /health`, and a clean answer for every path that is nobody's."""

from __future__ import annotations

import functools
from typing import Any

from isolane.api import Answer, Api, Request
from isolane.bindings import Bindings


def health(_: Request) -> Answer:
    """That the API answers; it says nothing about what lies behind it."""
    return Answer(body={"status": "ok"})


def build(app: Bindings) -> Api:
    """The routes of this function."""
    api = Api(callers=app.callers)
    api.route("GET", "/health", health, public=True)
    return api


@functools.cache
def _api() -> Api:
    return build(Bindings.from_env())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    return _api()(event, context)
