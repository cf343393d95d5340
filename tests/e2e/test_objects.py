"""Named objects over HTTP, as the contract has them."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from tests.e2e.client import Answer, Client
from tests.environment.deploy import Deployment
from tests.waiting import wait_until

CALLERS = 64
LONGEST_S = 30


def new_name() -> str:
    return uuid.uuid4().hex[:12]


def join(client: Client, room: str, who: str, *, key: str | None = None) -> Answer:
    headers = {"Idempotency-Key": key} if key is not None else None
    return client.call("POST", f"/rooms/{room}/join?who={who}", headers=headers)


def test_each_member_is_in_a_room_once_in_the_order_in_which_they_came(api: Client) -> None:
    room = new_name()
    assert api.call("GET", f"/rooms/{room}").json == {"room": room, "members": []}
    for who in ("tom", "ann", "tom", "%F0%9F%A6%80%20Jones"):
        assert join(api, room, who).status == 200
    expected = {"room": room, "members": ["tom", "ann", "🦀 Jones"]}
    assert join(api, room, "ann").json == expected
    assert api.call("GET", f"/rooms/{room}").json == expected


def test_a_counter_gives_out_no_value_twice_and_leaves_none_out(api: Client) -> None:
    counter = new_name()
    assert api.call("GET", f"/counters/{counter}").json == {"counter": counter, "value": 0}
    answers = [api.call("POST", f"/counters/{counter}/next") for _ in range(3)]
    assert [answer.json for answer in answers] == [{"counter": counter, "value": value} for value in (1, 2, 3)]
    assert api.call("GET", f"/counters/{counter}").json["value"] == 3


def test_the_same_key_gets_the_same_answer_and_changes_nothing(api: Client) -> None:
    room = new_name()
    first = join(api, room, "tom", key="k")
    join(api, room, "ann")
    again = join(api, room, "tom", key="k")
    assert (again.status, again.json) == (200, first.json)
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    refused = join(api, room, "bob", key="k")
    assert (refused.status, refused.code) == (422, "idempotency_mismatch")


def alone_s(api: Client) -> float:
    """How long as many calls take one after the other, with nobody else there: what this machine can do now."""
    counter, began_s = new_name(), time.monotonic()
    for _ in range(CALLERS // 4):
        api.call("POST", f"/counters/{counter}/next")
    return 4 * (time.monotonic() - began_s)


def test_64_callers_who_honour_a_503_have_64_values_in_a_row_within_30_seconds(
    api: Client, deployment: Deployment
) -> None:
    most = min(CALLERS, deployment.emulator.most_callers)
    counter, busy = new_name(), list[Answer]()
    # The emulator starts a process for each; that is not our time.
    for at_once in (each for each in (8, 16, 32, CALLERS) if each <= most):
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(lambda _: api.call("GET", f"/counters/{counter}"), range(at_once)))
    longest_s, began_s = max(LONGEST_S, 4 * alone_s(api)), time.monotonic()

    def one(number: int) -> int:
        while True:
            answer = api.call("POST", f"/counters/{counter}/next", headers={"Idempotency-Key": f"call-{number}"})
            if answer.status == 200:
                return int(answer.json["value"])
            assert answer.status == 503
            busy.append(answer)
            time.sleep(float(answer.headers["retry-after"]))

    with ThreadPoolExecutor(most) as threads:
        values = sorted(threads.map(one, range(CALLERS)))
    assert values == list(range(1, CALLERS + 1))
    told = Counter(answer.code for answer in busy)
    assert time.monotonic() - began_s < longest_s, f"busy: {told}"


@pytest.mark.parametrize("path", ["/rooms/a b/join?who=tom", f"/rooms/{'n' * 65}/join?who=tom", "/counters/-a/next"])
def test_a_name_that_is_none_is_refused(api: Client, path: str) -> None:
    answer = api.call("POST", path.replace(" ", "%20"))
    assert (answer.status, answer.code) == (400, "invalid_request")


UNSEEN = ("%00", "%20", "tom%0A", "tom%20", "tom%20%20jones", "to%E2%80%8Bm", "tom%E2%80%AE", "tom%F3%A0%81%81")


@pytest.mark.parametrize("query", ["", "?who=", f"?who={'w' * 65}", *(f"?who={who}" for who in UNSEEN)])
def test_nobody_joins_without_a_name_that_can_be_seen(api: Client, query: str) -> None:
    answer = api.call("POST", f"/rooms/{new_name()}/join{query}")
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_who_may_not_ask_and_what_is_not_there(api: Client) -> None:
    assert Client(base_url=api.base_url, token="nobodys").call("GET", "/rooms/1001").status == 401
    assert api.call("DELETE", "/rooms/1001").headers["allow"] == "GET"
    assert api.call("GET", "/counters/1001/next").code == "method_not_allowed"
    assert api.call("GET", "/rooms/1001/members").code == "not_found"


def test_a_room_closes_at_its_time_and_not_before(api: Client) -> None:
    room, now_s = new_name(), time.time()
    join(api, room, "tom")
    answer = api.call("PUT", f"/rooms/{room}/closing", body={"afterSeconds": 4})
    closing_s = datetime.fromisoformat(answer.json["closingAt"]).timestamp()
    assert (answer.status, answer.json["room"]) == (200, room)
    assert closing_s == pytest.approx(now_s + 4, abs=3)
    assert api.call("GET", f"/rooms/{room}").json["closingAt"] == answer.json["closingAt"]
    closed = wait_until(lambda: "closed" in api.call("GET", f"/rooms/{room}").json, description="closed", timeout_s=60)
    assert closed
    assert time.time() >= closing_s
    assert api.call("GET", f"/rooms/{room}").json == {"room": room, "members": ["tom"], "closed": True}
    refused = join(api, room, "ann")
    assert (refused.status, refused.code) == (409, "room_closed")


@pytest.mark.parametrize("after", [-1, 1.5, "4", None, 31_622_401])
def test_a_room_closes_after_a_number_of_seconds(api: Client, after: object) -> None:
    answer = api.call("PUT", f"/rooms/{new_name()}/closing", body={"afterSeconds": after})
    assert (answer.status, answer.code) == (400, "invalid_request")
