"""Pictures through a deployed stack, from a provider with bad manners: delivered, or paid back."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isolane.callers import Callers
from isolane.task import Status
from tests.doubles import manners, steps
from tests.doubles.manners import Manners
from tests.e2e.client import Client
from tests.integration.conftest import Providers
from tests.waiting import wait_until

PRICE = 10


@pytest.fixture
def caller(models: Providers) -> Client:
    """A caller of its own, with 100 credits."""
    name = f"rich-{uuid.uuid4().hex[:8]}"
    models.ledger.grant(name, amount=100, grant_id="welcome")
    token = Callers(models.state).issue(name, roles=["user"])
    return Client(base_url=models.deployment.api_url, token=token)


def outcome(caller: Client, task: Any) -> tuple[str, str | None, int]:
    account = caller.credits(limit=100).json
    assert account["balance"] == sum(entry["credits"] for entry in account["entries"]) >= 0
    return task["status"], task["error"]["code"] if "error" in task else None, account["balance"]


REDIRECT = steps.redirect("http://169.254.169.254/latest/meta-data/")
BAD: dict[str, tuple[Manners, str]] = {
    "it fails": (manners.fails(), "generation_failed"),
    "it is forgotten": (manners.lost(), "lost"),
    "its picture is a page": (manners.BY_NAME["page"], "picture_invalid"),
    "its picture is gone": (manners.BY_NAME["gone"], "picture_gone"),
    "its picture is elsewhere": (manners.puts_out("http://169.254.169.254/secret.png"), "picture_forbidden"),
    "its picture leads elsewhere": (manners.shows(REDIRECT), "picture_forbidden"),
    "it has no picture": (manners.BY_NAME["nothing"], "no_output"),
    "it refuses the prompt": (manners.submits(steps.status(422)), "refused"),
}


@pytest.mark.parametrize("case", BAD)
def test_whatever_the_provider_does_instead_is_paid_back(models: Providers, caller: Client, case: str) -> None:
    told, code = BAD[case]
    models.predictions.play(told)
    task = caller.wait_for_image(caller.order("A lighthouse").json["taskId"], timeout_s=60)
    assert outcome(caller, task) == ("failed", code, 100)
    assert "secret" not in str(task)
    assert models.predictions.url not in str(task)


def test_a_submit_that_worked_and_said_that_it_did_not_makes_one_picture(models: Providers, caller: Client) -> None:
    models.predictions.play(manners.BY_NAME["silent_success"])
    ordered = caller.order("A lighthouse")
    assert (ordered.status, ordered.json["status"]) == (202, "pending")
    task = caller.wait_for_image(ordered.json["taskId"], timeout_s=60)
    assert outcome(caller, task) == ("completed", None, 100 - PRICE)


def test_a_provider_that_is_busy_is_asked_again(models: Providers, caller: Client) -> None:
    models.predictions.play(manners.BY_NAME["busy"], manners.good())
    task = caller.wait_for_image(caller.order("A lighthouse").json["taskId"], timeout_s=60)
    assert outcome(caller, task) == ("completed", None, 100 - PRICE)


def test_what_nobody_polls_the_sweeper_brings_to_its_end(models: Providers, caller: Client) -> None:
    """One that is made in time, and one made when it was paid back: noted, and neither charged nor delivered."""
    models.predictions.play(manners.good(), manners.late(processing_s=18))
    unpolled, late = (caller.order(prompt).json["taskId"] for prompt in ("A lighthouse", "A windmill"))
    assert caller.wait_for_image(late, timeout_s=60)["error"]["code"] == "timed_out"

    def over() -> bool:
        delivered, given_up = models.tasks.find(unpolled), models.tasks.find(late)
        assert delivered is not None
        assert given_up is not None
        return delivered.status is Status.COMPLETED and given_up.late_success_at_ms is not None

    wait_until(over, description="the sweeper has delivered the one and noted the other", timeout_s=200)
    assert outcome(caller, caller.image(unpolled).json) == ("completed", None, 100 - PRICE)
    assert outcome(caller, caller.image(late).json) == ("failed", "timed_out", 100 - PRICE)


@pytest.mark.usefixtures("mortal")
def test_who_is_killed_between_the_charge_and_the_provider_loses_nobodys_credits(
    models: Providers, caller: Client
) -> None:
    models.predictions.play(manners.submits(steps.silent()), manners.good())
    key = uuid.uuid4().hex
    with ThreadPoolExecutor(1) as threads:
        threads.submit(caller.order, "A lighthouse", key=key)  # whatever becomes of this answer
        wait_until(lambda: models.predictions.requests, description="it is paid for, and being handed over")
        assert models.kill("ImagesApi")
    (waiting,) = caller.images().json["images"]
    assert (waiting["status"], waiting["attempt"]) == ("pending", 0)
    task = caller.wait_for_image(waiting["taskId"], timeout_s=60)
    assert outcome(caller, task) == ("completed", None, 100 - PRICE)
    assert caller.order("A lighthouse", key=key).json["taskId"] == waiting["taskId"]
