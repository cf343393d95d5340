"""Reservations over HTTP, as the contract has them to the letter; and what a person can hold any deployment to."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e import verify
from tests.e2e.client import Answer, Client


def new_workshop() -> str:
    return f"w-{uuid.uuid4().hex[:8]}"


def reserve(client: Client, workshop: str, request_id: str, seats: Any = 1) -> Answer:
    body = {"requestId": request_id, "seats": seats}
    return client.call("POST", f"/workshops/{workshop}/reservations", body=body)


def status(client: Client, workshop: str) -> Any:
    return client.call("GET", f"/workshops/{workshop}/status").json


def counted(workshop: str, *, capacity: int = 4, seats: int = 0, accepted: int = 0, rejected: int = 0) -> Any:
    return {
        "workshop": workshop,
        "capacity": capacity,
        "reserved": seats,
        "acceptedRequests": accepted,
        "rejectedRequests": rejected,
        "acceptedSeats": seats,
    }


def test_everything_that_reservations_promise_holds_under_a_crowd(api: Client) -> None:
    said: list[str] = []
    assert verify.verify(verify.Api(url=api.base_url, token=None), seed=1, say=said.append), "\n".join(said)
    assert len([line for line in said if line.startswith("ok ")]) == 5


def test_accepted_rejected_replayed_and_given_back(api: Client) -> None:
    workshop = new_workshop()
    assert status(api, workshop) == counted(workshop)
    accepted = reserve(api, workshop, "request-1", 3)
    assert (accepted.status, accepted.json) == (
        201,
        {
            "workshop": workshop,
            "requestId": "request-1",
            "seats": 3,
            "status": "accepted",
            "capacity": 4,
            "reserved": 3,
            "replayed": False,
        },
    )
    rejected = reserve(api, workshop, "request-2", 2)
    assert (rejected.status, rejected.json) == (
        409,
        {**accepted.json, "requestId": "request-2", "seats": 2, "status": "rejected"},
    )
    assert status(api, workshop) == counted(workshop, seats=3, accepted=1, rejected=1)
    for _ in range(2):
        canceled = api.call("DELETE", f"/workshops/{workshop}/reservations/request-1")
        assert (canceled.status, canceled.json["status"], canceled.json["reserved"]) == (200, "canceled", 0)
    again = reserve(api, workshop, "request-1", 3)
    assert (again.status, again.json) == (201, {**accepted.json, "reserved": 0, "replayed": True})
    again = reserve(api, workshop, "request-2", 2)
    assert (again.status, again.json) == (409, {**rejected.json, "reserved": 0, "replayed": True})
    assert status(api, workshop) == counted(workshop, rejected=1)


def test_other_seats_under_a_known_id_are_refused(api: Client) -> None:
    workshop = new_workshop()
    reserve(api, workshop, "request-1")
    answer = reserve(api, workshop, "request-1", 2)
    assert (answer.status, answer.code) == (422, "request_mismatch")
    assert status(api, workshop) == counted(workshop, seats=1, accepted=1)


def test_capacity_is_changed_by_an_admin_and_never_below_what_is_reserved(
    api: Client, stranger: Callable[..., Client]
) -> None:
    workshop = new_workshop()
    reserve(api, workshop, "request-1", 3)
    path = f"/workshops/{workshop}"
    assert stranger().call("PUT", path, body={"capacity": 9}).status == 403
    refused = api.call("PUT", path, body={"capacity": 2})
    assert (refused.status, refused.code) == (409, "capacity_in_use")
    raised = stranger("admin").call("PUT", path, body={"capacity": 9})
    assert (raised.status, raised.json) == (200, {"workshop": workshop, "capacity": 9, "reserved": 3})
    assert status(api, workshop) == counted(workshop, capacity=9, seats=3, accepted=1)


def test_a_workshop_is_everybodys_and_a_reservation_is_its_makers(stranger: Callable[..., Client]) -> None:
    workshop, ann, bob = new_workshop(), stranger(), stranger()
    reserve(ann, workshop, "request-1", 3)
    assert reserve(bob, workshop, "request-2", 2).json["reserved"] == 3
    path = f"/workshops/{workshop}/reservations/request-1"
    refused = bob.call("DELETE", path)
    assert (refused.status, refused.code) == (404, "reservation_not_found")
    assert stranger("admin").call("DELETE", path).status == 200
    assert ann.call("DELETE", path).status == 200


@pytest.mark.parametrize("request_id", ["request-2", "unknown"])
def test_what_was_rejected_or_never_was_cannot_be_given_back(api: Client, request_id: str) -> None:
    workshop = new_workshop()
    reserve(api, workshop, "request-1", 4)
    reserve(api, workshop, "request-2")
    answer = api.call("DELETE", f"/workshops/{workshop}/reservations/{request_id}")
    assert (answer.status, answer.code) == (404, "reservation_not_found")


GOOD: dict[str, Any] = {"requestId": "request-1", "seats": 1}
BODIES: list[Any] = [
    {},
    [],
    "text",
    None,
    7,
    {**GOOD, "seats": 0},
    {**GOOD, "seats": 5},
    {**GOOD, "seats": 1.5},
    {**GOOD, "seats": "1"},
    {**GOOD, "seats": True},
    {**GOOD, "seats": None},
    {**GOOD, "requestId": "r1"},
    {**GOOD, "requestId": "Request"},
    {**GOOD, "requestId": "request-1\n"},
    {**GOOD, "requestId": "r" * 49},
    {**GOOD, "requestId": 1},
    {"requestId": "request-1"},
    {"seats": 1},
]


@pytest.mark.parametrize("body", BODIES, ids=json.dumps)
def test_a_reservation_that_is_none_is_refused(api: Client, body: Any) -> None:
    workshop = new_workshop()
    answer = api.call("POST", f"/workshops/{workshop}/reservations", raw=json.dumps(body).encode())
    assert (answer.status, answer.code) == (400, "invalid_reservation")
    assert status(api, workshop) == counted(workshop)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"requestId": "a", "requestId": "b"}', b"\xff"])
def test_what_is_no_json_is_refused(api: Client, raw: bytes) -> None:
    answer = api.call("POST", f"/workshops/{new_workshop()}/reservations", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_json")


@pytest.mark.parametrize("name", ["Python", "1st", "a_b", "a" * 33, "%C3%A9"])
@pytest.mark.parametrize(("method", "rest"), [("GET", "/status"), ("POST", "/reservations"), ("PUT", "")])
def test_a_name_that_is_none_is_refused(api: Client, name: str, method: str, rest: str) -> None:
    body = {**GOOD, "capacity": 4} if method != "GET" else None
    answer = api.call(method, f"/workshops/{name}{rest}", body=body)
    assert (answer.status, answer.code) == (400, "invalid_workshop_name")


@pytest.mark.parametrize("capacity", [-1, 1_000_001, 1.5, "4", None, True])
def test_a_capacity_that_is_none_is_refused(api: Client, capacity: Any) -> None:
    answer = api.call("PUT", f"/workshops/{new_workshop()}", body={"capacity": capacity})
    assert (answer.status, answer.code) == (400, "invalid_reservation")


def test_a_known_path_with_another_method_and_a_path_that_is_not_known(api: Client) -> None:
    answer = api.call("PUT", f"/workshops/{new_workshop()}/status", body={})
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", "GET")
    assert api.call("GET", f"/workshops/{new_workshop()}/seats").status == 404
