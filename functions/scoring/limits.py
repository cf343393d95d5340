"""How long a worker may spend on models, and the settings with which no text could ever be scored.

tries of one delivery < its claim < its function: whatever is asked of a model in one delivery shares one deadline,
three quarters of the function's time, and the rest is for the claim, the end of the task and the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from isolane.errors import ConfigurationError
from scoring.policy_name import Policy

if TYPE_CHECKING:
    from isolane.settings import Settings

STARTING_S = 1.5
"""What a message needs besides its model call: to be claimed, completed and cached."""
_AROUND_S = STARTING_S + 0.5
"""The same, and what has gone of the function's time before its first message."""
_SHARE = 0.75


def provider_s(settings: Settings) -> float:
    """Seconds that models may take in one delivery."""
    return max(0.0, min(_SHARE * settings.worker_timeout_s, settings.worker_timeout_s - _AROUND_S))


def check(settings: Settings) -> None:
    """Raises ConfigurationError for what would otherwise be retried for ever, in silence."""
    if settings.model_timeout_s > provider_s(settings):
        raise ConfigurationError(
            f"ModelTimeout ({settings.model_timeout_s:g} s) does not fit into WorkerTimeout "
            f"({settings.worker_timeout_s:g} s): it may be {provider_s(settings):g} s at most, or no text is scored."
        )
    if settings.scorer_policy not in set(Policy):
        raise ConfigurationError(f"ScorerPolicy is one of {', '.join(Policy)}.")
    names = [entry.strip() for entry in settings.scorer_chain.split(",")]
    if len(set(names)) != len(names):
        raise ConfigurationError("ScorerChain names each scorer once.")
    if any(name.startswith("openai:") for name in names) and not _is_url(settings.openai_base_url):
        raise ConfigurationError("ScorerChain names openai:…, which needs a base URL (OpenAiBaseUrl, OPENAI_BASE_URL).")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
