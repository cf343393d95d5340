"""`GET /admin/stats`: what waits, who holds what, and which breakers are open."""

from __future__ import annotations

import json
from typing import Any

import operations.api
from isolane.permits import Permits
from tests.application import Application, Context
from tests.world import World

NAME = "openai:a"


def stats(app: Application, *, token: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    event = {"httpMethod": "GET", "path": "/admin/stats", "headers": headers}
    return operations.api.build(app.bindings)(event, Context())


def application(world: World) -> Application:
    return Application(
        world, scorers=(), changes={"SCORER_CHAIN": f"{NAME},builtin", "OPENAI_BASE_URL": "http://127.0.0.1:9"}
    )


def test_it_says_what_waits_who_holds_what_and_what_is_open(whole_world: World) -> None:
    app = application(whole_world)
    permits: Permits = app.bindings.permits
    lease = permits.acquire(NAME, holder="claim-1", lease_s=60, limit=5)
    assert lease is not None
    app.bindings.breaker.failed(NAME, retry_after_s=30)
    app.call("POST", "/score", body={"text": "Rivers shape the land."})
    app.bury([{"messageId": "m", "receiptHandle": "r", "body": "{bad", "messageAttributes": {}}])
    shown = json.loads(stats(app)["body"])
    assert shown["queues"]["score"] == {"visible": 1, "inFlight": 0, "delayed": 0, "oldestSeconds": None}
    queues = {"score", "scoreDeadLetters", "embed", "embedDeadLetters", "alarmDeadLetters"}
    assert shown["queues"].keys() == queues
    assert shown["deadLetters"] == 1
    assert shown["permits"][NAME]["limit"] == 5
    assert shown["permits"][NAME]["free"] == 4
    assert [holder["holder"] for holder in shown["permits"][NAME]["holders"]] == ["claim-1"]
    assert shown["breakers"] == {NAME: {"state": "open", "retryAfterSeconds": 30.0}}
    assert shown["currentRequests"] is None
    assert shown["estimatedWaitSeconds"] is None


def test_it_is_for_admins(whole_world: World) -> None:
    app = application(whole_world)
    user, admin = (app.bindings.callers.issue("ann", roles=[role]) for role in ("user", "admin"))
    assert stats(app, token=user)["statusCode"] == 403
    assert stats(app, token=admin)["statusCode"] == 200


def test_where_nothing_ever_happened_it_says_so(whole_world: World) -> None:
    shown = json.loads(stats(application(whole_world))["body"])
    assert (shown["permits"], shown["breakers"]) == ({NAME: None}, {NAME: {"state": "closed"}})
