"""How the lab gets between a client and AWS: hooks on botocore's events, and no class in the client's place.

`before-parameter-build` comes once a call and may change its parameters before they are signed; `before-send` comes
once a sending, and what it returns or raises takes the place of the network, so that the SDK's own retries see it;
`needs-retry` may overrule those; `after-call` may change the parsed answer.

moto answers `before-send` as well. botocore asks all handlers and takes the first answer, so a request that is answered
here is given an address that nobody knows before the others see it, and one that must be applied is first put to them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.hooks import first_non_none_response
from botocore.httpsession import URLLib3Session

from tests.faults.calls import Call

if TYPE_CHECKING:
    from tests.faults.failing_client import Process

_NOWHERE = "http://answered.by.the.fault.lab.invalid/"


class Tap:
    """The hooks of one process on one client's events."""

    def __init__(self, process: "Process", *, emitter: Any) -> None:
        self._process = process
        self._emitter = emitter
        self._http: URLLib3Session | None = None
        # A handler on `*.*` comes before every other, one registered last on the bare name after every other: what
        # boto3's resources do to parameters and answers lies between.
        self._hooks = (
            ("before-parameter-build", self._build, emitter.register_last),
            ("before-send.*.*", self._send, emitter.register_first),
            ("needs-retry.*.*", self._retry, emitter.register_first),
            ("after-call.*.*", self._answer, emitter.register_first),
            ("after-call-error.*.*", self._error, emitter.register_first),
        )

    @contextmanager
    def tapped(self) -> Iterator[None]:
        for event, hook, register in self._hooks:
            register(event, hook)
        try:
            yield
        finally:
            for event, hook, _ in self._hooks:
                self._emitter.unregister(event, hook)
            if self._http is not None:
                self._http.close()

    def _build(self, params: dict[str, Any], model: Any, context: dict[Any, Any], **_: Any) -> None:
        if not context.get("is_presign_request"):
            service = model.service_model
            context[self] = self._process.begin(
                params, service=service.service_name, operation=model.name, protocol=service.resolved_protocol
            )

    def _send(self, request: Any, event_name: str, **_: Any) -> AWSResponse | None:
        call: Call | None = request.context.get(self)
        if call is None or call.notes.get("delivering"):
            return None
        fault = self._process.resend(call)
        call.notes["struck"] = fault
        if fault is None:
            return None
        with self._process.dying():
            answer = fault.on_send(call, request, lambda: self._deliver(call, request, event_name))
        if answer is not None:
            request.url = _NOWHERE
        return answer

    def _deliver(self, call: Call, request: Any, event_name: str) -> AWSResponse:
        call.notes["delivering"] = True
        try:
            answer = first_non_none_response(self._emitter.emit(event_name, request=request))
            return answer if answer is not None else self._over_http(request)
        finally:
            call.notes["delivering"] = False

    def _over_http(self, request: Any) -> AWSResponse:
        if self._http is None:
            config = request.context["client_config"]
            timeouts: Any = (config.connect_timeout, config.read_timeout)
            self._http = URLLib3Session(timeout=timeouts)
        return self._http.send(request)

    def _retry(self, request_dict: dict[str, Any], **_: Any) -> int | bool | None:
        call = request_dict["context"].get(self)
        struck = call.notes.get("struck") if call is not None else None
        if struck is None or struck.retry is None:
            return None
        # botocore takes the first answer that is not None: seconds to wait, or False.
        return 0 if struck.retry else False

    def _answer(self, parsed: dict[str, Any], http_response: Any, context: dict[Any, Any], **_: Any) -> None:
        call: Call | None = context.get(self)
        if call is None:
            return
        good = http_response.status_code < 300
        if good:
            self._process.answer(call, parsed)
        self._process.end(call, outcome="ok" if good else parsed.get("Error", {}).get("Code", "error"))

    def _error(self, exception: Exception, context: dict[Any, Any], **_: Any) -> None:
        call: Call | None = context.get(self)
        if call is not None:
            self._process.end(call, outcome=type(exception).__name__)


def events_of(client: Any) -> Any:
    """The event emitter of a client, of a resource, or of a session of boto3 or botocore."""
    if hasattr(client, "events"):
        return client.events
    if hasattr(client, "get_component"):
        return client.get_component("event_emitter")
    meta = client.meta
    return meta.events if hasattr(meta, "events") else meta.client.meta.events
