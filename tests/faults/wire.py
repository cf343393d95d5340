"""Error answers as AWS writes them on the wire, for each protocol its services speak.

Plain values (status, headers, body), so that the hooks inside botocore and the proxy outside it say the same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Reason = str | Mapping[str, Any] | None

_NAMESPACES = {"dynamodb": "com.amazonaws.dynamodb.v20120810", "sqs": "com.amazonaws.sqs"}
_THROTTLES = {"dynamodb": "ProvisionedThroughputExceededException", "sqs": "RequestThrottled", "s3": "SlowDown"}
_SERVER_ERRORS = {"dynamodb": "InternalServerError", "s3": "InternalError", "sqs": "InternalError"}
_REASONS = {
    "ConditionalCheckFailed": "The conditional request failed",
    "TransactionConflict": "Transaction is ongoing for the item",
    "ThrottlingError": "Throughput exceeds the current capacity for one or more tables or indexes.",
    "ProvisionedThroughputExceeded": "The level of configured provisioned throughput for the table was exceeded.",
    "ItemCollectionSizeLimitExceeded": "Collection size exceeded.",
    "ValidationError": "One or more parameter values were invalid.",
}
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


@dataclass(frozen=True, kw_only=True)
class WireError:
    """An error a service would answer with: its code, HTTP status and sentence, and what else lies in the body."""

    code: str
    status: int = 400
    message: str = "Refused by the fault lab."
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WireAnswer:
    """An HTTP answer: status, headers (lower case) and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def throttled(service: str) -> WireError:
    """Too many requests, under the name that this service gives it."""
    return WireError(code=_THROTTLES.get(service, "ThrottlingException"), status=503 if service == "s3" else 400)


def server_error(service: str) -> WireError:
    """The 500 of this service: AWS does not say whether the request was applied."""
    return WireError(code=_SERVER_ERRORS.get(service, "InternalFailure"), status=500)


def unavailable() -> WireError:
    """A 503 from the front of the service."""
    return WireError(code="ServiceUnavailable", status=503)


def conflict() -> WireError:
    """A write to one item while a transaction holds it."""
    return WireError(code="TransactionConflictException", message=_REASONS["TransactionConflict"])


def canceled(reasons: Sequence[Reason]) -> WireError:
    """A canceled transaction: one reason an item, None for an item that had no part in it."""
    full = [_reason(reason) for reason in reasons]
    listed = ", ".join(reason["Code"] for reason in full)
    return WireError(
        code="TransactionCanceledException",
        message=f"Transaction cancelled, please refer cancellation reasons for specific reasons [{listed}]",
        extra={"CancellationReasons": full},
    )


def encode(error: WireError, *, service: str, protocol: str) -> WireAnswer:
    """`error` as `service` would send it in `protocol` (botocore's name: json, rest-json, query, rest-xml)."""
    if protocol in ("json", "rest-json"):
        return _json_error(error, service=service)
    return _xml_error(error, bare=protocol == "rest-xml")


def empty() -> WireAnswer:
    """A success that says nothing, for a JSON call whose answer is filled in later."""
    return WireAnswer(status=200, headers={"content-type": "application/x-amz-json-1.0"}, body=b"{}")


def _reason(reason: Reason) -> dict[str, Any]:
    if isinstance(reason, Mapping):
        return dict(reason)
    return {"Code": "None"} if reason is None else {"Code": reason, "Message": _REASONS.get(reason, reason)}


def _json_error(error: WireError, *, service: str) -> WireAnswer:
    namespace = _NAMESPACES.get(service)
    kind = f"{namespace}#{error.code}" if namespace else error.code
    # TransactionCanceledException alone spells it with a capital letter; botocore reads both.
    body = {"__type": kind, "Message" if error.extra else "message": error.message, **error.extra}
    headers = {"content-type": "application/x-amz-json-1.0", "x-amzn-errortype": error.code}
    if service == "sqs":
        headers["x-amzn-query-error"] = f"{error.code};{'Receiver' if error.status >= 500 else 'Sender'}"
    return WireAnswer(status=error.status, headers=headers, body=json.dumps(body).encode())


def _xml_error(error: WireError, *, bare: bool) -> WireAnswer:
    inner = f"<Error><Code>{error.code}</Code><Message>{error.message}</Message></Error>"
    text = inner if bare else f"<ErrorResponse>{inner}<RequestId>fault-lab</RequestId></ErrorResponse>"
    return WireAnswer(status=error.status, headers={"content-type": "text/xml"}, body=(_XML + text).encode())
