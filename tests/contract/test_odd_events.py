"""No event, however odd, gets anything but an answer that the API's document knows; and never a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from moto import mock_aws

import operations.api
from isolane.api import Api
from tests import openapi
from tests.application import Application, Context
from tests.environment import clients
from tests.world import World

# With halves of surrogate pairs, which no UTF-8 has in it but a hand-made event may.
odd = st.text(st.characters(codec=None), max_size=20) | st.just("a" * 3_000) | st.none()
filled = [path.replace("{taskId}", "a" * 32).replace("{name}", "python") for path in openapi.DOCUMENT["paths"]]
paths = st.sampled_from(filled) | st.builds(
    str.__add__, st.sampled_from(["/tasks/", "/workshops/", "/rooms/", "/counters/"]), st.text()
)
names = st.sampled_from(["Idempotency-Key", "Prefer", "Authorization", "Content-Type"])
questions = st.sampled_from(["taskId", "wait", "limit", "cursor", "status", "kind", "who"])
fields = st.sampled_from(["text", "callbackUrl", "requestId", "seats", "capacity", "x"])
bodies = st.dictionaries(fields, odd | st.integers()).map(json.dumps)
events = st.fixed_dictionaries(
    {"httpMethod": st.sampled_from(["GET", "POST", "DELETE", "PUT", "OPTIONS"]), "path": paths},
    optional={
        "headers": st.none() | st.dictionaries(names, odd, max_size=2),
        "multiValueHeaders": st.none() | st.dictionaries(names, st.lists(odd, max_size=2), max_size=1),
        "queryStringParameters": st.none() | st.dictionaries(questions, odd, max_size=2),
        "body": st.none() | odd | bodies,
        "isBase64Encoded": st.none() | st.booleans(),
    },
)


@pytest.fixture(scope="module")
def apis() -> Iterator[list[Api]]:
    with mock_aws():
        made = {
            service: clients.session().client(service, config=clients.CONFIG)
            for service in ("dynamodb", "sqs", "s3", "cloudwatch")
        }
        world = World(made.__getitem__)
        world.make_tables()
        app = Application(world, changes={"BUCKET": world.make_bucket().name})
        yield [app.api, operations.api.build(app.bindings), app.workshops, app.named_objects]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(event=events)
@example(
    event={"httpMethod": "POST", "path": "/score", "headers": {"Idempotency-Key": "\ud800"}, "body": '{"text":"a"}'}
)
@example(event={"httpMethod": "GET", "path": "/tasks", "headers": {"Authorization": "Bearer \ud800"}})
@example(event={"httpMethod": "GET", "path": "/result", "queryStringParameters": {"taskId": "\ud800"}})
@example(event={"httpMethod": "GET", "path": "/tasks", "queryStringParameters": {"cursor": "\ud800"}})
def test_every_event_gets_an_answer_that_can_be_sent(apis: list[Api], event: dict[str, Any]) -> None:
    for api in apis:
        answer = api(event, Context())
        assert answer["statusCode"] < 500, answer["body"]
        answer["body"].encode()
        assert all(value.encode("latin-1") for value in answer["headers"].values())
