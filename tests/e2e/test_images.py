"""Pictures and credits over HTTP, as the contract has them."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
import urllib3
from PIL import Image

from isolane.ledger import Ledger
from tests.deployed import Deployed
from tests.e2e.client import Client
from tests.environment.deploy import Deployment

PRICE = 10


@pytest.fixture(scope="session")
def ledger(deployment: Deployment) -> Ledger:
    return Deployed(deployment=deployment).ledger


@pytest.fixture
def rich(stranger: Callable[..., Client], ledger: Ledger) -> Client:
    """A caller of its own, with 100 credits."""
    name = f"rich-{uuid.uuid4().hex[:8]}"
    ledger.grant(name, amount=100, grant_id="welcome")
    return stranger(name=name)


def opened(task: Any) -> Image.Image:
    """The picture behind the task's link, read by a decoder that is not ours."""
    answer = urllib3.request("GET", task["imageUrl"])
    assert answer.status == 200
    assert answer.headers["Content-Type"] == task["result"]["contentType"]
    picture = Image.open(io.BytesIO(answer.data))
    picture.load()
    return picture


def entries(client: Client) -> list[tuple[str, int, str]]:
    account = client.credits(limit=100).json
    assert account["balance"] == sum(entry["credits"] for entry in account["entries"]) >= 0
    return [(entry["id"], entry["credits"], entry["reason"]) for entry in account["entries"]]


def test_a_picture_is_paid_for_made_and_seen_from_outside(rich: Client) -> None:
    ordered = rich.order("A lighthouse at dawn")
    task_id = ordered.json["taskId"]
    assert ordered.status == 202
    assert ordered.headers["location"] == f"images/{task_id}"
    assert int(ordered.headers["retry-after"]) >= 1
    assert ordered.headers["cache-control"] == "no-store"
    assert {name: ordered.json[name] for name in ("kind", "status", "terminal", "prompt")} == {
        "kind": "image",
        "status": "pending",
        "terminal": False,
        "prompt": "A lighthouse at dawn",
    }
    datetime.fromisoformat(ordered.json["createdAt"])
    done = rich.wait_for_image(task_id)
    assert (done["status"], done["model"]) == ("completed", "builtin")
    picture = opened(done)
    assert (picture.format, picture.size) == ("PNG", (done["result"]["width"], done["result"]["height"]))
    assert entries(rich) == [(f"charge#{task_id}", -PRICE, "image"), ("grant#welcome", 100, "grant")]


def test_one_prompt_is_always_the_same_picture_and_another_another(rich: Client) -> None:
    tasks = [rich.order(prompt).json["taskId"] for prompt in ("red", "red", "blue")]
    first, again, other = (opened(rich.wait_for_image(task_id)).tobytes() for task_id in tasks)
    assert first == again
    assert first != other


def test_a_link_is_made_at_each_read_and_only_there(rich: Client, deployment: Deployment) -> None:
    task_id = rich.order("A windmill").json["taskId"]
    assert rich.wait_for_image(task_id)["imageUrl"].startswith(f"{deployment.emulator.url}/"), "as seen from outside"
    assert opened(rich.image(task_id).json).size == opened(rich.images().json["images"][0]).size
    assert "imageUrl" not in rich.call("GET", f"/tasks/{task_id}").json


def test_too_few_credits_are_told_with_the_balance(stranger: Callable[..., Client], ledger: Ledger) -> None:
    name = f"poor-{uuid.uuid4().hex[:8]}"
    poor = stranger(name=name)
    assert poor.credits().json == {"balance": 0, "entries": [], "cursor": None}
    ledger.grant(name, amount=PRICE - 1, grant_id="nearly")
    refused = poor.order("A lighthouse")
    assert (refused.status, refused.code, refused.json["balance"]) == (402, "insufficient_credits", PRICE - 1)
    assert poor.images().json == {"images": [], "cursor": None}


def test_a_canceled_picture_gives_its_credits_back_once(rich: Client) -> None:
    task_id = rich.order("A lighthouse").json["taskId"]
    canceled = rich.cancel(task_id)
    assert (canceled.status, canceled.json["status"]) == (202, "canceled")
    again = rich.cancel(task_id)
    assert (again.status, again.code) == (409, "task_finished")
    assert rich.image(task_id).json["status"] == "canceled"
    assert entries(rich)[:2] == [(f"refund#{task_id}", PRICE, "canceled"), (f"charge#{task_id}", -PRICE, "image")]


def test_one_key_is_one_picture_and_one_charge(rich: Client) -> None:
    key = uuid.uuid4().hex
    first, again = rich.order("A lighthouse", key=key), rich.order("A lighthouse", key=key)
    assert again.json["taskId"] == first.json["taskId"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    other = rich.order("A windmill", key=key)
    assert (other.status, other.code) == (422, "idempotency_mismatch")
    assert rich.credits().json["balance"] == 100 - PRICE


def test_a_client_that_comes_back_finds_its_pictures(rich: Client) -> None:
    ids = [rich.order(f"Picture {number}").json["taskId"] for number in range(3)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = rich.images(limit=2, **cursor).json
        seen += [task["taskId"] for task in page["images"]]
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert seen == ids[::-1]


@pytest.mark.parametrize("path", ["/images?limit=0", "/credits?limit=x", "/images?cursor=odd", "/credits?cursor=odd"])
def test_a_question_that_makes_no_sense_is_refused(rich: Client, path: str) -> None:
    refused = rich.call("GET", path)
    assert (refused.status, refused.code) == (400, "invalid_cursor" if "cursor" in path else "invalid_request")


def test_nobody_sees_anybody_elses(rich: Client, stranger: Callable[..., Client]) -> None:
    task_id = rich.order("A lighthouse").json["taskId"]
    other = stranger()
    assert (other.image(task_id).status, other.image(task_id).code) == (404, "task_not_found")
    assert other.cancel(task_id).status == 404
    assert other.images().json["images"] == []


def test_what_is_no_order_is_refused(rich: Client) -> None:
    for raw, code in ((b"{", "invalid_json"), (b"{}", "prompt_required"), (b'{"prompt": " "}', "prompt_required")):
        refused = rich.call("POST", "/images", raw=raw)
        assert (refused.status, refused.code) == (400, code)
    wrong = rich.call("PUT", "/images", raw=b"{}")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, POST")
    assert rich.credits().json["balance"] == 100
