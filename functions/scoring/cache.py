"""Which score answers for which text: the cache key and how long it holds."""

from __future__ import annotations

from isolane.kv import content_key
from scoring.versions import PROMPT_VERSION, RUBRIC_VERSION

FALLBACK_S = 600
"""A score by another than the first scorer answers for ten minutes only: the first one may be back by then."""


def cache_key(text: str, *, owner: str, chain: str) -> str:
    """One key for one caller, one text and one way of scoring it."""
    return content_key("score", owner, text, chain, PROMPT_VERSION, RUBRIC_VERSION)
