"""A model that is asked no oftener than its provider allows, whoever asks it."""

from __future__ import annotations

from collections.abc import Callable

from isolane.errors import Contended, Unavailable
from isolane.model_errors import ModelNotAsked
from isolane.rate_limit import RateLimit


def may_ask(name: str, *, rate: RateLimit | None) -> Callable[[], None]:
    """What takes one of a model's rate before each request; where none is left, it raises ModelNotAsked.

    Also where nobody can say how much is left.
    """

    def take() -> None:
        if rate is None:
            return
        try:
            taken = rate.take(f"model#{name}")
        except (Unavailable, Contended) as error:
            raise ModelNotAsked from error
        if not taken.allowed:
            raise ModelNotAsked(retry_after_s=taken.retry_after_s)

    return take
