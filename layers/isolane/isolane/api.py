"""The edge of an HTTP API: routes, who is calling, and every failure as `{"error": code, "message": sentence}`.

One shape for requests, whatever API Gateway leaves out of an event, and answers that never carry the input back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isolane.callers import Caller, Callers
from isolane.deadline import Deadline
from isolane.errors import (
    ConfigurationError,
    Contended,
    Forbidden,
    InsufficientCredits,
    InvalidRequest,
    IsolaneError,
    MethodNotAllowed,
    RateLimited,
    Refused,
    Unauthorized,
    Unavailable,
)
from isolane.json_edge import decode_body, dumps, parse_object
from isolane.observability import concerns, invocation, logger
from isolane.routes import Routes

if TYPE_CHECKING:
    from isolane.rate_limit import RateLimit

_LONGEST_S = 25.0
_MARGIN_S = 1.0
_COME_BACK_S = "1"
_IN_A_MINUTE = {"Retry-After": "60"}
_ALWAYS = {
    "Cache-Control": "no-store",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Location, Retry-After, Idempotent-Replayed, Preference-Applied, RateLimit-Limit, "
    "RateLimit-Remaining, RateLimit-Reset, x-request-id",
}
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Prefer",
    "Access-Control-Max-Age": "600",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call, with nothing left out: names of headers in lower case, the last of several values."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: str | None
    is_base64: bool
    request_id: str
    deadline: Deadline
    caller: Caller

    def json_object(self) -> dict[str, Any]:
        """The body, which must be a JSON object. Raises InvalidJson, InvalidRequest or TooLarge."""
        return parse_object(decode_body(self.body, is_base64=self.is_base64))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the caller gets."""

    status: int = 200
    body: Any = None
    """A value that becomes JSON."""
    text: str = ""
    """What is sent where there is no such value; its Content-Type is among the headers."""
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[..., Answer]
"""Takes the Request, and the path's variables by name."""

NOBODY = Caller(name="", roles=frozenset())


@dataclass(frozen=True, kw_only=True)
class _Route:
    rule: str
    handle: Handler
    public: bool
    roles: frozenset[str]


class Api:
    """The routes of one function. It is called with an event and a context, as Lambda calls a handler."""

    def __init__(self, *, callers: Callers, posts: RateLimit | None = None) -> None:
        """`posts` limits the POSTs of each caller to each route."""
        self._callers = callers
        self._posts = posts
        self._routes: Routes[_Route] = Routes()

    def route(
        self, method: str, rule: str, handle: Handler, *, public: bool = False, roles: tuple[str, ...] = ("user",)
    ) -> None:
        """Answers a method on a path such as `/tasks/<task_id>`; `roles` are those of which a caller needs one."""
        self._routes.add(method, rule, _Route(rule=rule, handle=handle, public=public, roles=frozenset(roles)))

    @property
    def operations(self) -> frozenset[tuple[str, str]]:
        """Each method with its rule: what this function answers, besides OPTIONS."""
        return self._routes.known

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        with invocation(entry="api", context=context):
            request = _request(event, context)
            concerns(x_request_id=request.request_id)
            try:
                answer = self._answer(request)
            except Exception as error:  # noqa: BLE001 - the outermost edge: every failure becomes an answer
                answer = _failure(error)
            return _in_the_gateways_form(answer, request_id=request.request_id)

    def _answer(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return _preflight(self._routes.methods(request.path))
        route, variables = self._routes.match(request.method, request.path)
        identified = self._identified(request, route)
        if request.method == "POST" and self._posts is not None:
            _take(self._posts, f"posts#{route.rule}#{identified.caller.name}")
        return route.handle(identified, **variables)

    def _identified(self, request: Request, route: _Route) -> Request:
        if route.public:
            return request
        caller = self._callers.identify(request.headers.get("authorization"))
        if caller is None:
            raise Unauthorized
        if not caller.roles & route.roles:
            raise Forbidden
        concerns(caller=caller.name)
        return replace(request, caller=caller)


def _take(posts: RateLimit, key: str) -> None:
    taken = posts.take(key)
    if not taken.allowed:
        raise RateLimited(
            limit=taken.limit,
            remaining=taken.remaining,
            reset_s=math.ceil(taken.reset_s),
            retry_after_s=max(1, math.ceil(taken.retry_after_s)),
        )


def _request(event: Mapping[str, Any], context: Any) -> Request:
    """The call in an event of API Gateway; what is null or missing there is empty here."""
    return Request(
        method=str(event.get("httpMethod") or "GET").upper(),
        path=_encodable(str(event.get("path") or "/")),
        headers={name.lower(): value for name, value in _last_values(event, "headers", "multiValueHeaders").items()},
        query=_last_values(event, "queryStringParameters", "multiValueQueryStringParameters"),
        body=event.get("body"),
        is_base64=bool(event.get("isBase64Encoded")),
        request_id=str((event.get("requestContext") or {}).get("requestId") or context.aws_request_id),
        deadline=Deadline.after(min(_LONGEST_S, context.get_remaining_time_in_millis() / 1000 - _MARGIN_S)),
        caller=NOBODY,
    )


def _last_values(event: Mapping[str, Any], single: str, several: str) -> dict[str, str]:
    last = {name: values[-1] for name, values in (event.get(several) or {}).items() if values}
    values = {**(event.get(single) or {}), **last}
    return {name: _encodable(value) for name, value in values.items() if isinstance(value, str)}


def _encodable(text: str) -> str:
    """The text with halves of surrogate pairs spelled out: nobody sends them, but an event may hold them."""
    return text.encode(errors="backslashreplace").decode()


def _preflight(methods: tuple[str, ...]) -> Answer:
    allowed = ", ".join(methods)
    return Answer(status=204, headers={**_PREFLIGHT, "Allow": allowed, "Access-Control-Allow-Methods": allowed})


def _in_the_gateways_form(answer: Answer, *, request_id: str) -> dict[str, Any]:
    """A whole number, text, and headers that are text: anything else is a 502 on AWS."""
    headers = {**_ALWAYS, "x-request-id": request_id, **answer.headers}
    body = answer.text
    if answer.body is not None:
        headers["Content-Type"] = "application/json; charset=utf-8"
        body = dumps(answer.body)
    return {"statusCode": answer.status, "headers": headers, "body": body, "isBase64Encoded": False}


def _failure(error: Exception) -> Answer:
    """The one place where a failure becomes an answer."""
    if isinstance(error, Refused):
        return _refusal(error)
    if isinstance(error, Contended | Unavailable):
        logger().warning("a service did not answer", extra={"error": type(error).__name__})
        return _problem(503, error, headers={"Retry-After": _COME_BACK_S})
    logger().exception("an answer of 500")
    return _problem(500, IsolaneError("Something went wrong here."))


def _refusal(error: Refused) -> Answer:
    headers: dict[str, str] = {}
    details: dict[str, int] = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, RateLimited):
        headers["RateLimit-Limit"] = str(error.limit)
        headers["RateLimit-Remaining"] = str(error.remaining)
        headers["RateLimit-Reset"] = str(error.reset_s)
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    if isinstance(error, InsufficientCredits):
        details["balance"] = error.balance
    return _problem(error.status, error, headers=headers, details=details)


def _problem(
    status: int,
    error: IsolaneError,
    *,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, int] | None = None,
) -> Answer:
    body = {"error": error.code, "message": error.message, **(details or {})}
    return Answer(status=status, body=body, headers=headers or {})


def not_ready(error: ConfigurationError, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer of a function whose settings are such that it cannot start: 503, and the reason in its log."""
    with invocation(entry="api", context=context):
        logger().error("cannot start", extra={"reason": error.message})
        answer = _problem(503, Unavailable("The application is not set up as it should be."), headers=_IN_A_MINUTE)
        return _in_the_gateways_form(answer, request_id=_request(event, context).request_id)


def whole_number(text: str | None, *, name: str, default: int, smallest: int, largest: int) -> int:
    """A whole number from a query. Raises InvalidRequest for anything else; larger than the largest is the largest."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or (number := _bounded(text, largest=largest)) < smallest:
        raise InvalidRequest(f"{name} is a whole number of at least {smallest}.")
    return number


def _bounded(digits: str, *, largest: int) -> int:
    """The number, or the largest; Python reads no number of thousands of digits."""
    significant = digits.lstrip("0") or "0"
    return largest if len(significant) > len(str(largest)) else min(int(significant), largest)
