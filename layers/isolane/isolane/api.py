"""The edge of an HTTP API: routes, who is calling, and every failure as `{"error": code, "message": sentence}`.

Routing is Powertools'. What is ours: one shape for requests whatever API Gateway leaves out of an event, 404 and 405
told apart, and answers that never carry the input back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from isolane.callers import Caller, Callers
from isolane.deadline import Deadline
from isolane.errors import (
    Contended,
    Forbidden,
    InvalidRequest,
    IsolaneError,
    MethodNotAllowed,
    NotFound,
    Refused,
    Unauthorized,
    Unavailable,
)
from isolane.json_edge import decode_body, dumps, parse_object
from isolane.observability import called_by, invocation, logger

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
_LONGEST_S = 25.0
_MARGIN_S = 1.0
_COME_BACK_S = "1"
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
    """What the caller gets; the body is JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[..., Answer]
"""Takes the Request, and the path's variables by name."""

NOBODY = Caller(name="", roles=frozenset())


@dataclass(frozen=True, kw_only=True)
class _Route:
    handle: Handler
    public: bool
    roles: frozenset[str]


class Api:
    """The routes of one function. It is called with an event and a context, as Lambda calls a handler."""

    def __init__(self, *, callers: Callers) -> None:
        self._callers = callers
        self._resolver = APIGatewayRestResolver(serializer=dumps)
        self._rules: dict[str, dict[str, _Route]] = {}
        self._resolver.exception_handler(Exception)(_failure)
        self._resolver.exception_handler(NotFoundError)(lambda _: _failure(NotFound()))

    def route(
        self, method: str, rule: str, handle: Handler, *, public: bool = False, roles: tuple[str, ...] = ("user",)
    ) -> None:
        """Answers a method on a path such as `/tasks/<task_id>`; `roles` are those of which a caller needs one."""
        if rule not in self._rules:
            self._rules[rule] = {}
            self._resolver.route(rule, method=_METHODS)(self._dispatcher(rule))
        self._rules[rule][method] = _Route(handle=handle, public=public, roles=frozenset(roles))

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        with invocation(entry="api", context=context):
            request = _request(event, context)
            self._resolver.context["request"] = request
            answer = self._resolver.resolve(_bare_event(request), context)
            return _with_headers(answer, request_id=request.request_id)

    def _dispatcher(self, rule: str) -> Callable[..., Response[Any]]:
        def dispatch(**variables: str) -> Response[Any]:  # a function and not a partial: the router wants its name
            return self._dispatch(rule, **variables)

        return dispatch

    def _dispatch(self, rule: str, **variables: str) -> Response[Any]:
        request: Request = self._resolver.context["request"]
        methods = self._rules[rule]
        if request.method == "OPTIONS":
            return _preflight(methods)
        route = methods.get(request.method)
        if route is None:
            raise MethodNotAllowed(allowed=tuple(sorted(methods)))
        return _response(route.handle(self._identified(request, route), **variables))

    def _identified(self, request: Request, route: _Route) -> Request:
        if route.public:
            return request
        caller = self._callers.identify(request.headers.get("authorization"))
        if caller is None:
            raise Unauthorized
        if not caller.roles & route.roles:
            raise Forbidden
        called_by(caller.name)
        return replace(request, caller=caller)


def _request(event: Mapping[str, Any], context: Any) -> Request:
    """The call in an event of API Gateway; what is null or missing there is empty here."""
    return Request(
        method=str(event.get("httpMethod") or "GET").upper(),
        path=str(event.get("path") or "/"),
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
    last.update(event.get(single) or {})
    return {name: value for name, value in last.items() if isinstance(value, str)}


def _bare_event(request: Request) -> dict[str, Any]:
    """Just what the router needs, so that nothing odd in an event can upset it."""
    return {"httpMethod": request.method, "path": request.path, "headers": {}, "requestContext": {}}


def _response(answer: Answer) -> Response[Any]:
    body = dumps(answer.body) if answer.body is not None else ""
    content_type = "application/json; charset=utf-8" if answer.body is not None else None
    return Response(status_code=answer.status, content_type=content_type, body=body, headers=dict(answer.headers))


def _preflight(methods: Mapping[str, _Route]) -> Response[Any]:
    allowed = ", ".join(sorted(methods))
    return _response(
        Answer(status=204, headers={**_PREFLIGHT, "Allow": allowed, "Access-Control-Allow-Methods": allowed})
    )


def _with_headers(answer: dict[str, Any], *, request_id: str) -> dict[str, Any]:
    """The answer in API Gateway's form: a whole number, text, and headers that are text, each once."""
    given = {name: values[-1] for name, values in (answer.get("multiValueHeaders") or {}).items() if values}
    headers = {**_ALWAYS, "x-request-id": request_id, **given}
    return {
        "statusCode": int(answer["statusCode"]),
        "headers": headers,
        "body": answer["body"],
        "isBase64Encoded": False,
    }


def _failure(error: Exception) -> Response[Any]:
    """The one place where a failure becomes an answer."""
    if isinstance(error, Refused):
        return _response(_refusal(error))
    if isinstance(error, Contended | Unavailable):
        logger().warning("a service did not answer", extra={"error": type(error).__name__})
        return _response(_problem(503, error, headers={"Retry-After": _COME_BACK_S}))
    logger().exception("an answer of 500")
    return _response(_problem(500, IsolaneError("Something went wrong here.")))


def _refusal(error: Refused) -> Answer:
    headers: dict[str, str] = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return _problem(error.status, error, headers=headers)


def _problem(status: int, error: IsolaneError, *, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status=status, body={"error": error.code, "message": error.message}, headers=headers or {})


def whole_number(text: str | None, *, name: str, default: int, smallest: int, largest: int) -> int:
    """A whole number from a query. Raises InvalidRequest for anything else; larger than the largest is the largest."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= smallest):
        raise InvalidRequest(f"{name} is a whole number of at least {smallest}.")
    return min(int(text), largest)
