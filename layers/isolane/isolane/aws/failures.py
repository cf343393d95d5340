"""What AWS says went wrong, in our words: one context manager around each call to a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from isolane.aws.codec import from_item
from isolane.errors import ConditionFailed, Contended, TransactionRefused, Unavailable

_CONTENDED = {
    "TransactionConflictException",
    "TransactionInProgressException",
    # Each call has a token of its own, so this one is not ours: DynamoDB Local says it at random.
    "IdempotentParameterMismatchException",
}
_THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "Throttling",
    "RequestThrottled",
    "SlowDown",
    "TooManyRequestsException",
}
_HELD = "TransactionConflict"
_NOT_NOW = {"ThrottlingError", "ProvisionedThroughputExceeded"}
"""Reasons for which a transaction is canceled, as each of its items may have one."""


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
    sent_again = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(found=_image(error.response), sent_again=sent_again)
    if code == "TransactionCanceledException":
        return _canceled(error)
    if code in _CONTENDED:
        return Contended(sent_again=sent_again)
    if code in _THROTTLED or status >= 500:
        return Unavailable(f"A service refused for now ({code}).")
    return error


def _canceled(error: ClientError) -> Exception:
    """What a canceled transaction comes to, as each item gives a reason of its own.

    Throttling comes first: to try again at once would feed it. A condition that did not hold is a fact, also where
    another item was busy; where items were only busy, the same transaction may go through next time.
    """
    reasons: Any = error.response.get("CancellationReasons", ())
    codes = {reason.get("Code") for reason in reasons}
    if codes & _NOT_NOW:
        return Unavailable("A service refused for now (throttling).")
    if "ConditionalCheckFailed" in codes:
        return TransactionRefused(refusals=tuple(_refusal(reason) for reason in reasons))
    return Contended() if _HELD in codes else error


def _refusal(reason: Any) -> ConditionFailed | None:
    return ConditionFailed(found=_image(reason)) if reason.get("Code") == "ConditionalCheckFailed" else None


def _image(answer: Any) -> dict[str, Any] | None:
    return from_item(answer["Item"]) if answer.get("Item") else None
