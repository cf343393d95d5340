"""Nothing that starts again forgets a seat: the stack deployed anew, the emulator and DynamoDB Local started anew."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isolane.errors import IdempotencyMismatch
from isolane.reservations import Reservations
from isolane.workshop import Decision, Seats
from tests.e2e.client import Client
from tests.environment import clients
from tests.environment.deploy import Deployment, deploy
from tests.environment.down import down
from tests.environment.dynamodb_local import free_port, missing, running
from tests.environment.up import up
from tests.world import World


def world_at(url: str, *, suffix: str) -> World:
    client = clients.dynamodb(url)
    return World(lambda _: client, suffix=suffix)


def reserve_some(workshops: Reservations) -> None:
    workshops.set_capacity("python", capacity=6)
    for request_id, seats in (("accepted", 4), ("canceled", 2), ("rejected", 3)):
        workshops.reserve("python", request_id=request_id, seats=seats, caller="ann")
    workshops.cancel("python", request_id="canceled", owner="ann")


def is_as_it_was(workshops: Reservations) -> None:
    """The numbers, the decisions, and what is left are those of before; and it goes on from there."""
    status = workshops.status("python")
    assert (status.seats, status.accepted, status.rejected) == (Seats(capacity=6, reserved=4), 1, 1)
    for request_id, seats, decision in (("accepted", 4, "accepted"), ("rejected", 3, "rejected")):
        again = workshops.reserve("python", request_id=request_id, seats=seats, caller="ann")
        assert (str(again.attempt.decision), again.replayed) == (decision, True)
    with pytest.raises(IdempotencyMismatch):
        workshops.reserve("python", request_id="canceled", seats=1, caller="ann")
    last = [workshops.reserve("python", request_id=f"last-{n}", seats=2, caller="ann").attempt.decision for n in "ab"]
    assert last == [Decision.ACCEPTED, Decision.REJECTED]


def test_dynamodb_local_goes_on_from_its_disk(tmp_path: Path) -> None:
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with running(data=tmp_path) as started:
        world = world_at(started.url, suffix="kept")
        world.make_tables()
        reserve_some(world.reservations)
    with running(data=tmp_path) as again:
        is_as_it_was(world_at(again.url, suffix="kept").reservations)


def test_the_emulator_goes_on_from_its_state(tmp_path: Path) -> None:
    url = f"http://localhost:{free_port()}"
    try:
        up(url, local=tmp_path)
        world = world_at(url, suffix="kept")
        world.make_tables()
        reserve_some(world.reservations)
        assert down(local=tmp_path)
        up(url, local=tmp_path)
        is_as_it_was(world_at(url, suffix="kept").reservations)
    finally:
        down(local=tmp_path)


@pytest.fixture
def deploy_with(monkeypatch: pytest.MonkeyPatch, deployment: Deployment) -> Callable[[str], Deployment]:
    """Deploys what stands there once more, with other parameters."""

    def again(parameters: str) -> Deployment:
        monkeypatch.setenv("PARAMETERS", parameters)
        return deploy(deployment.emulator)

    return again


def test_a_stack_that_is_deployed_again_goes_on(deployment: Deployment, deploy_with: Callable[..., Deployment]) -> None:
    workshop = f"/workshops/w-{uuid.uuid4().hex[:8]}"

    def reserve(url: str, request_id: str, seats: int) -> tuple[int, Any]:
        body = {"requestId": request_id, "seats": seats}
        answer = Client(base_url=url).call("POST", f"{workshop}/reservations", body=body)
        return answer.status, answer.json["replayed"]

    assert reserve(deployment.api_url, "request-1", 3) == (201, False)
    assert reserve(deployment.api_url, "request-2", 2) == (409, False)
    before = Client(base_url=deployment.api_url).call("GET", f"{workshop}/status").json
    for parameters in ("LogLevel=ERROR", ""):  # and back, for the other tests
        url = deploy_with(parameters).api_url
        assert Client(base_url=url).call("GET", f"{workshop}/status").json == before
        assert reserve(url, "request-1", 3) == (201, True)
        assert reserve(url, "request-2", 2) == (409, True)
