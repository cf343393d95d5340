"""Makes moto quicker for thousands of lives: what it works out anew for each call, and depends on nothing, is kept."""

import functools
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from botocore.useragent import UserAgentString
from moto import mock_aws
from moto.core import responses
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models import UpdateExpressionParser  # type: ignore[attr-defined]  # where it is used

_KEPT = ("camelcase_to_underscores", "method_names_from_class")
_GARBAGE_AT = 50_000
_lex = ConditionExpressionParser._lex_one_node


@functools.cache
def _lexed_once(text: str) -> Any:
    return _lex(ConditionExpressionParser("", {}, {}), text)


def _lexed(_: ConditionExpressionParser, text: str) -> Any:
    """The first word of a condition, and the rest: the same for all who ask."""
    return _lexed_once(text)


@contextmanager
def quick_moto() -> Iterator[None]:
    """moto, in about four fifths of its time."""
    collected_at = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_GARBAGE_AT, 20, 20)
    # What is parsed is copied before it is changed.
    parsed = patch.object(UpdateExpressionParser, "make", functools.cache(UpdateExpressionParser.make))
    try:
        with ExitStack() as stack:
            for name in _KEPT:
                stack.enter_context(patch.object(responses, name, functools.cache(getattr(responses, name))))
            stack.enter_context(parsed)
            stack.enter_context(patch.object(ConditionExpressionParser, "_lex_one_node", _lexed))
            stack.enter_context(patch.object(UserAgentString, "to_string", functools.cache(UserAgentString.to_string)))
            stack.enter_context(mock_aws())
            yield
    finally:
        gc.set_threshold(*collected_at)
        gc.unfreeze()
