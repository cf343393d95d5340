"""What can go wrong, drawn as a tree.

IsolaneError
├── Refused                    the caller asked for what cannot be; the status is theirs (4xx)
│   ├── InvalidJson            400
│   ├── InvalidRequest         400
│   ├── InvalidCursor          400
│   ├── Unauthorized           401
│   ├── InsufficientCredits    402
│   ├── Forbidden              403
│   ├── NotFound               404
│   ├── MethodNotAllowed       405
│   ├── Conflict               409
│   ├── Gone                   410
│   ├── TooLarge               413
│   ├── IdempotencyMismatch    422
│   ├── RateLimited            429
│   └── Overloaded             503                                                            x
├── ConditionFailed            a conditional write met another state; it carries that state
├── TransactionRefused         the same, of several writes that go together or not at all
├── Contended                  another transaction holds the item; trying again helps        x
├── Unavailable                the store or the queue did not answer, or throttles            x
├── OutgoingError              a call to somebody else's server
│   ├── TimedOut               x
│   ├── Unreachable            x
│   ├── AddressForbidden
│   └── ReplyTooLarge
└── ConfigurationError         a setting is missing or makes no sense

x: a retry can help (`error.retryable`). An error's docstring is its default message: a sentence for the caller that
never carries the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class IsolaneError(Exception):
    """Something went wrong."""

    code: str = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        self.message = message if message is not None else " ".join((type(self).__doc__ or "").split())
        super().__init__(self.message)


class Refused(IsolaneError):
    """The request cannot be carried out."""

    code = "invalid_request"
    status: int = 400

    def __init__(
        self, message: str | None = None, *, code: str | None = None, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.retry_after_s = retry_after_s


class InvalidJson(Refused):
    """The body is not valid JSON."""

    code = "invalid_json"


class InvalidRequest(Refused):
    """The request does not have the expected shape."""


class InvalidCursor(Refused):
    """The cursor is not one that this API gave out."""

    code = "invalid_cursor"


class Unauthorized(Refused):
    """A valid bearer token is needed."""

    code = "unauthorized"
    status = 401


class InsufficientCredits(Refused):
    """The credits do not cover the price."""

    code = "insufficient_credits"
    status = 402

    def __init__(self, *, balance: int) -> None:
        super().__init__()
        self.balance = balance
        """What there is."""


class Forbidden(Refused):
    """This needs a role that the caller does not have."""

    code = "forbidden"
    status = 403


class NotFound(Refused):
    """There is nothing here."""

    code = "not_found"
    status = 404


class MethodNotAllowed(Refused):
    """This path does not answer to that method."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, *, allowed: tuple[str, ...]) -> None:
        super().__init__()
        self.allowed = allowed


class Conflict(Refused):
    """The state of the resource does not allow this."""

    code = "conflict"
    status = 409


class Gone(Refused):
    """It was here and is not any more."""

    code = "gone"
    status = 410


class TooLarge(Refused):
    """The body is too large."""

    code = "too_large"
    status = 413


class IdempotencyMismatch(Refused):
    """This Idempotency-Key was used with another body."""

    code = "idempotency_mismatch"
    status = 422


class RateLimited(Refused):
    """There were too many requests; try again later."""

    code = "rate_limited"
    status = 429

    def __init__(self, *, limit: int, remaining: int, reset_s: int, retry_after_s: int) -> None:
        super().__init__(retry_after_s=retry_after_s)
        self.limit = limit
        self.remaining = remaining
        self.reset_s = reset_s


class Overloaded(Refused):
    """There is more to do than can be done in time; try again later."""

    code = "overloaded"
    status = 503
    retryable = True


class ConditionFailed(IsolaneError):
    """The item was not in the state that the write asked for."""

    code = "condition_failed"

    def __init__(self, *, found: Mapping[str, Any] | None, sent_again: bool = False) -> None:
        super().__init__()
        self.found = found
        """The item as the store saw it when it refused; None where there is none."""
        self.sent_again = sent_again
        """Whether the write had been sent before: what refused it may be what it has done itself."""


class TransactionRefused(IsolaneError):
    """One of the items was not in the state that the transaction asked for."""

    code = "condition_failed"

    def __init__(self, *, refusals: tuple[ConditionFailed | None, ...]) -> None:
        super().__init__()
        self.refusals = refusals
        """In the order of the writes: the refusal of each whose condition did not hold, None for the others."""


class Contended(IsolaneError):
    """Another transaction holds the item."""

    code = "contended"
    retryable = True

    def __init__(self, message: str | None = None, *, sent_again: bool = False) -> None:
        super().__init__(message)
        self.sent_again = sent_again
        """Whether what was refused had been sent before, and may have been applied then."""


class Unavailable(IsolaneError):
    """A service that this depends on did not answer."""

    code = "unavailable"
    retryable = True


class OutgoingError(IsolaneError):
    """A call to another server failed."""

    code = "outgoing"


class TimedOut(OutgoingError):
    """The call did not end in time."""

    code = "timed_out"
    retryable = True


class Unreachable(OutgoingError):
    """The server could not be reached, or broke off."""

    code = "unreachable"
    retryable = True


class AddressForbidden(OutgoingError):
    """The server's address is not one that may be connected to."""

    code = "address_forbidden"


class ReplyTooLarge(OutgoingError):
    """The server's reply is larger than allowed."""

    code = "reply_too_large"


class ConfigurationError(IsolaneError):
    """A setting is missing or makes no sense."""

    code = "configuration"
