"""What can be set, as one validated value; the only file that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from isolane.errors import ConfigurationError


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _setting(
    variable: str, default: str | None = None, *, read: Callable[[str], Any] = str, secret: bool = False
) -> Any:
    """One field: the variable it comes from, what it is when that is unset or empty (None: it must be there)."""
    return field(metadata={"variable": variable, "default": default, "read": read}, repr=not secret)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a deployment can choose; names of resources come from the template."""

    endpoint_url: str = _setting("AWS_ENDPOINT_URL", "")
    """Where AWS is, when it is not AWS; empty on AWS itself."""
    tasks_table: str = _setting("TASKS_TABLE")
    state_table: str = _setting("STATE_TABLE")
    values_table: str = _setting("VALUES_TABLE")
    bucket: str = _setting("BUCKET")
    score_queue_url: str = _setting("SCORE_QUEUE_URL")
    score_dead_letter_queue_url: str = _setting("SCORE_DEAD_LETTER_QUEUE_URL")
    embed_queue_url: str = _setting("EMBED_QUEUE_URL", "")
    embed_dead_letter_queue_url: str = _setting("EMBED_DEAD_LETTER_QUEUE_URL", "")
    alarm_queue_url: str = _setting("ALARM_QUEUE_URL", "")
    alarm_dead_letter_queue_url: str = _setting("ALARM_DEAD_LETTER_QUEUE_URL", "")
    allow_anonymous: bool = _setting("ALLOW_ANONYMOUS", "false", read=_flag)
    """A caller without a token is user `local` with every role. For a laptop only."""
    scorer_chain: str = _setting("SCORER_CHAIN", "builtin")
    scorer_policy: str = _setting("SCORER_POLICY", "fallback")
    """fallback: the first of the chain that answers; average: the mean of all that answer."""
    max_retries: int = _setting("MAX_RETRIES", "3", read=int)
    """Attempts after the first, as in Cloudflare Queues: 3 means 4 attempts."""
    pool_size: int = _setting("POOL_SIZE", "3", read=int)
    """Messages that one invocation works on side by side."""
    model_timeout_s: float = _setting("MODEL_TIMEOUT_SECONDS", "10", read=float)
    """The longest that one call to a model may take."""
    model_concurrency: int = _setting("MODEL_CONCURRENCY", "5", read=int)
    """Calls to one model at once, over all workers; 0: as many as there are workers."""
    worker_timeout_s: float = _setting("WORKER_TIMEOUT_SECONDS", "60", read=float)
    """How long the worker's function may run."""
    score_concurrency: int = _setting("SCORE_CONCURRENCY", "5", read=int)
    """Batches of texts in work at once."""
    embedder: str = _setting("EMBEDDER", "builtin")
    """Who makes vectors: builtin, openai:MODEL or bedrock:MODEL."""
    embed_dimensions: int = _setting("EMBED_DIMENSIONS", "256", read=int)
    """Numbers in a vector, which a model is asked for; 0: as many as it gives."""
    embed_concurrency: int = _setting("EMBED_CONCURRENCY", "5", read=int)
    """Calls to the embedding model at once, over all workers."""
    embed_batch_size: int = _setting("EMBED_BATCH_SIZE", "10", read=int)
    """Documents in one call, at the most."""
    vector_index_arn: str = _setting("VECTOR_INDEX_ARN", "")
    """An index of S3 Vectors; empty: vectors lie in State."""
    longest_queue_wait_s: int = _setting("MAX_QUEUE_WAIT_SECONDS", "0", read=int)
    """Texts that would wait longer are refused; 0: none are."""
    model_requests_per_minute: int = _setting("MODEL_REQUESTS_PER_MINUTE", "0", read=int)
    """Requests to one model, over all workers; 0: as many as its permits allow."""
    posts_per_minute: int = _setting("POSTS_PER_MINUTE", "0", read=int)
    """POSTs of one caller to one route, on average; 0: as many as come."""
    cache_s: int = _setting("CACHE_SECONDS", "86400", read=int)
    """How long a score answers for the same text again."""
    review_below: int = _setting("REVIEW_BELOW", "0", read=int)
    """A score under this is looked at by a human; 0: none is."""
    image_provider: str = _setting("IMAGE_PROVIDER", "builtin")
    """Who makes pictures: builtin, replicate:OWNER/NAME or bedrock:MODEL."""
    image_base_url: str = _setting("IMAGE_BASE_URL", "https://api.replicate.com/v1")
    """Where predictions are made in Replicate's way."""
    image_api_key: str = _setting("IMAGE_API_KEY", "", secret=True)
    image_api_key_parameter: str = _setting("IMAGE_API_KEY_PARAMETER", "")
    """The name of an SSM SecureString that holds the key; used where IMAGE_API_KEY is empty."""
    image_hosts: str = _setting("IMAGE_HOSTS", "replicate.delivery,*.replicate.delivery")
    """Where a provider's pictures may be fetched from, with commas between: `replicate.delivery` is that host,
    `*.replicate.delivery` every host below it. For laptops and tests only: `http://127.0.0.1:8098`, with its scheme and
    port, is that server as it is, without TLS and at a private address."""
    image_price: int = _setting("IMAGE_PRICE", "10", read=int)
    """Credits for one picture; 0: nothing."""
    image_start_s: int = _setting("IMAGE_START_SECONDS", "600", read=int)
    """A picture that its provider has not begun after this is given up, and its credits come back."""
    image_finish_s: int = _setting("IMAGE_FINISH_SECONDS", "1800", read=int)
    """The same, for one that it has begun: counted from then on."""
    public_endpoint_url: str = _setting("PUBLIC_ENDPOINT_URL", "")
    """Where links to pictures lead, where that is not where the functions find AWS."""
    openai_base_url: str = _setting("OPENAI_BASE_URL", "")
    openai_api_key: str = _setting("OPENAI_API_KEY", "", secret=True)
    openai_api_key_parameter: str = _setting("OPENAI_API_KEY_PARAMETER", "")
    """The name of an SSM SecureString that holds the key; used where OPENAI_API_KEY is empty."""

    @property
    def max_attempts(self) -> int:
        return self.max_retries + 1

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads and checks all settings; raises ConfigurationError with the variable's name, never its value."""
        source = os.environ if environ is None else environ
        _refuse_a_real_account_under_sam_local(source)
        return cls(**{entry.name: _read(entry.metadata, source) for entry in fields(cls)})


VARIABLES = frozenset(entry.metadata["variable"] for entry in fields(Settings))
"""Every variable that the code reads; the template declares each."""


def _read(metadata: Mapping[str, Any], source: Mapping[str, str]) -> Any:
    variable, default = metadata["variable"], metadata["default"]
    text = source.get(variable) or default
    if text is None:
        raise ConfigurationError(f"{variable} is not set")
    try:
        return metadata["read"](text)
    except (ValueError, KeyError):
        raise ConfigurationError(f"{variable} does not have a usable value") from None


def _refuse_a_real_account_under_sam_local(source: Mapping[str, str]) -> None:
    """Without an endpoint, a function under `sam local` would talk to the account of whoever runs it."""
    if source.get("AWS_SAM_LOCAL") and not source.get("AWS_ENDPOINT_URL"):
        raise ConfigurationError(
            "AWS_SAM_LOCAL is set and AWS_ENDPOINT_URL is not: pass --parameter-overrides EndpointUrl=… (the local AWS "
            "as seen from inside a container) and --env-vars .local/sam-env.json"
        )
