"""What AWS says went wrong, in our words: one context manager around each call to a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from isolane.aws.codec import from_item
from isolane.errors import ConditionFailed, Contended, Unavailable

_CONTENDED = {"TransactionConflictException", "TransactionInProgressException"}
_THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "Throttling",
    "RequestThrottled",
    "SlowDown",
    "TooManyRequestsException",
}


@contextmanager
def in_our_words() -> Iterator[None]:
    """Turns botocore's exceptions into ours; a mistake of this code (a bad expression, no right) stays what it is."""
    try:
        yield
    except ClientError as error:
        raise _translated(error) from error
    except BotoCoreError as error:
        raise Unavailable(f"A service did not answer ({type(error).__name__}).") from error


def _translated(error: ClientError) -> Exception:
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(found=_image(error.response))
    if code in _CONTENDED:
        return Contended()
    if code in _THROTTLED or status >= 500:
        return Unavailable(f"A service refused for now ({code}).")
    return error


def _image(answer: Any) -> dict[str, Any] | None:
    return from_item(answer["Item"]) if answer.get("Item") else None
