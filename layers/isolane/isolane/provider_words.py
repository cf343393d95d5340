"""What providers of models mean by an error: how long to wait, or that waiting is no use. Their sentences differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from isolane.errors import InvalidJson, InvalidRequest
from isolane.json_edge import parse_object

LONGEST_WAIT_S = 3_600.0
"""What a provider can ask for at the most; a wrong clock at its end must not park a task for a year."""

_PAGE_BYTES = 2_000

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_TOO_LONG = re.compile(
    r"context[ _]?(window|length|size)|string_above_max_length|exceeds the maximum number of tokens"
    r"|(prompt|input|request|messages?) ((is|are) )?too (long|large)|too many input tokens|reduce the length",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|billing_hard_limit|billing_not_active|credit balance is too low|too many tokens per day",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[ _-](filter|policy)|responsible ?ai|flagged as sensitive|safety (system|filter|checker)|nsfw",
    re.IGNORECASE,
)


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds to wait by a reply's Retry-After, or None; `headers` with names in lower case.

    A number of seconds, a date, or milliseconds in a header of their own, which OpenAI's clients read first.
    """
    milliseconds, value = headers.get("retry-after-ms", "").strip(), headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return min(float(milliseconds) / 1000, LONGEST_WAIT_S)
    seconds = float(value) if _NUMBER.fullmatch(value) else _until(value, now=now)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT_S)


def utc_now() -> datetime:
    """The moment from which a date in a Retry-After is counted."""
    return datetime.now(UTC)


def says_too_long(sentence: str) -> bool:
    """Whether an error is about a text that does not fit, which no retry changes."""
    return _TOO_LONG.search(sentence) is not None


def says_quota(sentence: str) -> bool:
    """Whether an error is about money or a day's allowance, rather than about the last minute."""
    return _QUOTA.search(sentence) is not None


def says_filtered(sentence: str) -> bool:
    """Whether a filter in front of the model has refused the text."""
    return _FILTERED.search(sentence) is not None


def sentence_in(body: bytes, *, max_bytes: int) -> str:
    """What an error says of itself, in the forms that are about; nothing of what it repeats of the request."""
    try:
        answer = parse_object(body, max_bytes=max_bytes)
    except (InvalidJson, InvalidRequest):
        return body[:_PAGE_BYTES].decode(errors="replace")
    error = answer.get("error", answer)
    if isinstance(error, dict):
        return " ".join(str(error.get(name, "")) for name in ("code", "type", "message"))
    return str(error)


def _until(date: str, *, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
