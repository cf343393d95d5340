"""Which score answers for which text: the cache key and how long it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isolane.kv import content_key
from isolane.payloads import text_digest
from scoring.policy_name import Policy
from scoring.versions import PROMPT_VERSION, RUBRIC_VERSION

if TYPE_CHECKING:
    from isolane.settings import Settings

FALLBACK_S = 600
"""A score without somebody who was wanted for it answers for ten minutes only: they may be back by then."""


def cache_key(text: str, *, owner: str, chain: str) -> str:
    """One key for one caller, one text and one way of scoring it."""
    return key_of_digest(text_digest(text), owner=owner, chain=chain)


def key_of_digest(digest: str, *, owner: str, chain: str) -> str:
    """The same, from the text's digest (`isolane.payloads.text_digest`)."""
    return content_key("score", owner, digest, chain, PROMPT_VERSION, RUBRIC_VERSION)


def way_of_scoring(settings: Settings) -> str:
    """What stands for `chain` in a key: who scores, and how they are put together."""
    policy = settings.scorer_policy
    return settings.scorer_chain if policy == Policy.FALLBACK else f"{policy} of {settings.scorer_chain}"
