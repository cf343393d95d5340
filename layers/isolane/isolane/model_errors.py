"""How a call to a model can end badly: each error is one named outcome and knows what can still help.

OutgoingError
└── ModelError
    ├── ModelBusy         transient   x a   it may work later: after `retry_after_s`, where the provider said so
    │   └── ModelNotAsked                   a limit of our own says so, and the provider knows nothing of it
    ├── ModelRejected     permanent     a   somebody has to act first: the key, the quota, the model's name, the request
    ├── InputTooLong      too_long      a   it does not fit into this model's window
    ├── ModelRefused      refused           the model, or a filter before it, will not
    └── ReplyUnreadable   repair            what came was not what was asked for, the second time too

x: a retry can help (`error.retryable`). a: another model may answer at once (`error.another_may_answer`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from isolane.errors import OutgoingError


class ModelOutcome(StrEnum):
    """Every reply of a model, and every failure to get one, is exactly one of these."""

    SCORED = "scored"
    REPAIR = "repair"
    REFUSED = "refused"
    TOO_LONG = "too_long"
    TRANSIENT = "transient"
    PERMANENT = "permanent"


class ModelError(OutgoingError):
    """The model gave no usable answer."""

    code = "model_failed"
    outcome: ClassVar[ModelOutcome]
    another_may_answer: ClassVar[bool] = False

    def __init__(self, message: str | None = None, *, retry_after_s: float | None = None, requests: int = 0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds that the provider asks to wait; None where it did not say."""
        self.requests = requests
        """Requests that had been made when it was given up, repairs and other models included."""


class ModelBusy(ModelError):
    """The model cannot answer for now."""

    code = "model_busy"
    outcome = ModelOutcome.TRANSIENT
    retryable = True
    another_may_answer = True


class ModelNotAsked(ModelBusy):
    """The model may not be asked yet."""


class ModelRejected(ModelError):
    """The model's provider does not accept the request."""

    code = "model_rejected"
    outcome = ModelOutcome.PERMANENT
    another_may_answer = True


class InputTooLong(ModelError):
    """The text is too long for the model."""

    code = "model_input_too_long"
    outcome = ModelOutcome.TOO_LONG
    another_may_answer = True


class ModelRefused(ModelError):
    """The model declined to judge this text."""

    code = "model_refused"
    outcome = ModelOutcome.REFUSED


class ReplyUnreadable(ModelError):
    """The model's answer did not have the form that was asked for, twice."""

    code = "model_unreadable"
    outcome = ModelOutcome.REPAIR
