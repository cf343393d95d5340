"""What Lambda calls for an API: its routes are built once a container, when it is called first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from isolane.api import Api, not_ready
from isolane.bindings import Bindings
from isolane.errors import ConfigurationError

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def serving(build: Callable[[Bindings], Api]) -> Handler:
    """The handler of a function. With settings that cannot be, it answers 503 in the form of every answer."""

    @functools.cache
    def api() -> Api:
        return build(Bindings.from_env())

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            ready = api()
        except ConfigurationError as error:
            return not_ready(error, event, context)
        return ready(event, context)

    return handler
