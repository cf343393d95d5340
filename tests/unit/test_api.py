"""The API's edge: whatever an event looks like, a proper answer, and never the input in it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.api import Answer, Api, Request, not_ready, whole_number
from isolane.bindings import Bindings
from isolane.callers import LOCAL, Caller
from isolane.errors import ConfigurationError, Contended, InvalidRequest, Overloaded, Unavailable
from isolane.observability import logger
from isolane.serving import serving
from tests.world import settings

USER = Caller(name="ann", roles=frozenset({"user"}))


@dataclass
class Context:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 25_000


class KnownCallers:
    """Callers by what they say in the Authorization header."""

    def identify(self, authorization: str | None) -> Caller | None:
        return {"Bearer ann": USER, "Bearer root": LOCAL}.get(authorization or "")


def raising(error: Exception) -> Any:
    def handle(_: Request) -> Answer:
        raise error

    return handle


@pytest.fixture
def api() -> Api:
    api = Api(callers=KnownCallers())  # type: ignore[arg-type]  # the same one method
    api.route("GET", "/health", lambda _: Answer(body={"status": "ok"}), public=True)
    api.route("POST", "/echo", lambda request: Answer(body={"size": len(request.json_object())}))
    api.route(
        "GET", "/things/<thing>", lambda request, thing: Answer(body={"thing": thing, "for": request.caller.name})
    )
    api.route("DELETE", "/things/<thing>", lambda _, thing: Answer(status=202, body={"gone": thing}))
    api.route("GET", "/admin", lambda _: Answer(body={}), roles=("admin",))
    api.route("GET", "/broken", raising(RuntimeError("a secret")), public=True)
    api.route("GET", "/contended", raising(Contended()), public=True)
    api.route("GET", "/unavailable", raising(Unavailable()), public=True)
    api.route("GET", "/overloaded", raising(Overloaded(retry_after_s=7)), public=True)
    api.route("GET", "/text", lambda _: Answer(body={"text": "長é"}, headers={"Location": "x"}), public=True)
    return api


def call(
    api: Api, method: str, path: str, *, token: str | None = USER.name, body: str | None = None, **event: Any
) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return api({"httpMethod": method, "path": path, "headers": headers, "body": body, **event}, Context())


def outcome(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["statusCode"], json.loads(answer["body"])["error"]


def test_every_answer_has_the_form_that_the_gateway_needs(api: Api) -> None:
    answer = call(api, "GET", "/text")
    assert set(answer) == {"statusCode", "headers", "body", "isBase64Encoded"}
    assert type(answer["statusCode"]) is int
    assert answer["body"] == '{"text":"長é"}'
    assert all(isinstance(value, str) for value in answer["headers"].values())
    assert answer["headers"]["Content-Type"] == "application/json; charset=utf-8"
    assert answer["headers"]["Cache-Control"] == "no-store"
    assert answer["headers"]["x-request-id"] == "request-1"
    assert answer["headers"]["Location"] == "x"


def test_unknown_paths_and_other_methods_are_told_apart(api: Api) -> None:
    assert outcome(call(api, "GET", "/nowhere")) == (404, "not_found")
    other = call(api, "PUT", "/things/1")
    assert outcome(other) == (405, "method_not_allowed")
    assert other["headers"]["Allow"] == "DELETE, GET"
    assert other["headers"]["Access-Control-Allow-Origin"] == "*"


def test_a_preflight_is_answered_without_a_token(api: Api) -> None:
    answer = call(api, "OPTIONS", "/echo", token=None)
    assert answer["statusCode"] == 204
    assert answer["headers"]["Access-Control-Allow-Methods"] == "POST"
    assert "Authorization" in answer["headers"]["Access-Control-Allow-Headers"]


def test_nobody_is_401_and_somebody_without_the_role_403(api: Api) -> None:
    assert outcome(call(api, "POST", "/echo", token=None)) == (401, "unauthorized")
    assert outcome(call(api, "POST", "/echo", token="wrong")) == (401, "unauthorized")
    assert outcome(call(api, "GET", "/admin")) == (403, "forbidden")
    assert call(api, "GET", "/admin", token="root")["statusCode"] == 200
    assert call(api, "GET", "/health", token=None)["statusCode"] == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, (400, "invalid_json")),
        ("", (400, "invalid_json")),
        ("{bad", (400, "invalid_json")),
        ('{"x":' + "1" * 5000 + "}", (400, "invalid_json")),
        ("[" * 20_000 + "]" * 20_000, (400, "invalid_json")),
        ('{"a":1,"a":2}', (400, "invalid_json")),
        ('{"a":NaN}', (400, "invalid_json")),
        ('{"a":1e999}', (400, "invalid_json")),
        ('{"a":"\\ud800"}', (400, "invalid_json")),
        ("\ufeff{}", (400, "invalid_json")),
        ("null", (400, "invalid_request")),
        ("[]", (400, "invalid_request")),
        ('"x"', (400, "invalid_request")),
        ("1", (400, "invalid_request")),
        ('{"a":"' + "x" * 1_048_576 + '"}', (413, "too_large")),
    ],
)
def test_each_oddity_of_a_body_has_its_answer(api: Api, body: str | None, expected: tuple[int, str]) -> None:
    plain = call(api, "POST", "/echo", body=body)
    assert outcome(plain) == expected
    encoded = base64.b64encode((body or "").encode()).decode()
    assert outcome(call(api, "POST", "/echo", body=encoded, isBase64Encoded=True)) == expected


def test_a_base64_body_is_decoded_by_its_flag(api: Api) -> None:
    encoded = base64.b64encode(b'{"a":1}').decode()
    assert call(api, "POST", "/echo", body=encoded, isBase64Encoded=True)["body"] == '{"size":1}'
    assert outcome(call(api, "POST", "/echo", body="!!", isBase64Encoded=True)) == (400, "invalid_json")


def test_an_event_with_everything_null_is_answered(api: Api) -> None:
    names = ["headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters", "body"]
    empty = dict.fromkeys([*names, "requestContext", "pathParameters", "httpMethod", "path", "isBase64Encoded"])
    assert outcome(api(empty, Context())) == (404, "not_found")
    assert outcome(api({}, Context())) == (404, "not_found")


def test_header_names_have_no_case_and_the_last_value_counts(api: Api) -> None:
    several = {"AUTHORIZATION": ["Bearer wrong", "Bearer ann"]}
    event = {"httpMethod": "GET", "path": "/things/1", "headers": {"Authorization": "Bearer wrong"}}
    answer = api({**event, "multiValueHeaders": several}, Context())
    assert json.loads(answer["body"]) == {"thing": "1", "for": "ann"}


@pytest.mark.parametrize("thing", ["a b", "a=b", "a+b", "a%2Fb", "é", "'; DROP", "<thing>", "..", "%", "長" * 300])
def test_odd_ids_are_answered(api: Api, thing: str) -> None:
    assert call(api, "GET", f"/things/{thing}")["statusCode"] in {200, 404}


def test_a_surprise_is_500_and_says_nothing(api: Api) -> None:
    answer = call(api, "GET", "/broken")
    assert outcome(answer) == (500, "internal")
    assert "secret" not in answer["body"]


def test_a_function_that_cannot_start_says_so_in_the_form_of_every_answer() -> None:
    event = {"requestContext": {"requestId": "gateways"}}
    answer = not_ready(ConfigurationError("ModelTimeout does not fit."), event, Context())
    assert outcome(answer) == (503, "unavailable")
    assert (answer["headers"]["Retry-After"], answer["headers"]["x-request-id"]) == ("60", "gateways")
    assert "ModelTimeout" not in answer["body"]


def test_lines_say_who_is_calling_in_this_invocation_only(api: Api) -> None:
    seen: list[dict[str, Any]] = []

    def look(_: Request) -> Answer:
        seen.append(dict(logger().get_current_keys()))
        return Answer()

    api.route("GET", "/look", look)
    api.route("GET", "/look-openly", look, public=True)
    answer = call(api, "GET", "/look", requestContext={"requestId": "gateways"})
    call(api, "GET", "/look-openly", token=None)
    assert [(keys["entry"], keys["request_id"], keys["x_request_id"], keys.get("caller")) for keys in seen] == [
        ("api", "request-1", "gateways", "ann"),
        ("api", "request-1", "request-1", None),
    ]
    assert answer["headers"]["x-request-id"] == "gateways"


def test_trouble_behind_it_is_503_with_a_time_to_come_back(api: Api) -> None:
    for path, code, after in (("contended", "contended", "1"), ("unavailable", "unavailable", "1")):
        answer = call(api, "GET", f"/{path}")
        assert outcome(answer) == (503, code)
        assert answer["headers"]["Retry-After"] == after
    overloaded = call(api, "GET", "/overloaded")
    assert (outcome(overloaded), overloaded["headers"]["Retry-After"]) == ((503, "overloaded"), "7")


odd = st.none() | st.text() | st.integers() | st.dictionaries(st.text(), st.none() | st.text() | st.lists(st.text()))


@given(
    event=st.fixed_dictionaries(
        {},
        optional={
            "httpMethod": st.none() | st.text() | st.sampled_from(["GET", "POST", "DELETE"]),
            "path": st.none() | st.text() | st.sampled_from(["/echo", "/things/1", "/health"]),
            "headers": st.none() | st.dictionaries(st.text(), odd),
            "multiValueHeaders": st.none() | st.dictionaries(st.text(), st.none() | st.lists(st.none() | st.text())),
            "body": st.none() | st.text(),
            "isBase64Encoded": st.none() | st.booleans(),
            "requestContext": st.none() | st.just({}),
        },
    )
)
def test_no_event_is_a_500(event: dict[str, Any]) -> None:
    api = Api(callers=KnownCallers())  # type: ignore[arg-type]  # the same one method
    api.route("POST", "/echo", lambda request: Answer(body=request.json_object()), public=True)
    api.route("GET", "/things/<thing>", lambda _, thing: Answer(body={"thing": thing}))
    answer = api(event, Context())
    assert answer["statusCode"] < 500
    answer["body"].encode()


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "١", "0", "0" * 5000])
def test_a_query_number_is_a_whole_number_or_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        whole_number(text, name="limit", default=20, smallest=1, largest=100)


def test_a_query_number_has_a_default_and_a_limit() -> None:
    assert whole_number(None, name="limit", default=20, smallest=1, largest=100) == 20
    assert whole_number("500", name="limit", default=20, smallest=1, largest=100) == 100
    assert whole_number("9" * 5000, name="limit", default=20, smallest=1, largest=100) == 100
    assert whole_number("0" * 5000 + "7", name="limit", default=20, smallest=1, largest=100) == 7


def test_whatever_cannot_start_answers_and_nothing_is_built_before_the_first_call() -> None:
    built: list[Bindings] = []

    def build(app: Bindings) -> Api:
        built.append(app)
        raise ConfigurationError("ModelTimeout does not fit.")

    handler = serving(build)
    assert built == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bindings, "from_env", lambda: Bindings(settings()))
        assert [handler({}, Context())["statusCode"] for _ in range(2)] == [503, 503]
    assert len(built) == 2, "it is tried again: somebody may have mended it"
