"""Many pictures for many users from a provider that fails, forgets and dawdles, while functions are killed.

`IMAGES=500` makes them as many; at the end every account balances to the entry.
"""

from __future__ import annotations

import io
import os
import random
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import pytest
import urllib3
from PIL import Image

from isolane.callers import Callers
from tests.doubles import manners
from tests.e2e.client import Answer, Client
from tests.integration.conftest import Providers
from tests.waiting import wait_until

MANY = int(os.environ.get("IMAGES", "60"))
USERS, CLIENTS, PRICE, SEED = 20, 16, 10, 20261130
GRANT = 100_000
CHANCES = {"fails": 0.2, "lost": 0.05, "late": 0.05}
CANCELED, FORGOTTEN = 0.05, 0.1
"""How many are canceled at once, and how many are never asked about."""
MOST_KILLS = 20
LONGEST_S = 300 + 2 * MANY


@dataclass(frozen=True)
class Order:
    """One picture that somebody wants."""

    number: int
    user: int

    @property
    def key(self) -> str:
        return f"order-{self.number}"

    @property
    def dice(self) -> float:
        return random.Random(f"{SEED}:{self.number}").random()


@pytest.fixture
def users(models: Providers) -> list[Client]:
    callers, run = Callers(models.state), uuid.uuid4().hex[:8]
    made = []
    for number in range(USERS):
        name = f"{run}-{number}"
        models.ledger.grant(name, amount=GRANT, grant_id="welcome")
        token = callers.issue(name, roles=["user"])
        made.append(Client(base_url=models.deployment.api_url, token=token))
    return made


def insisted(ask: Any, *, until_s: float) -> Answer:
    """The answer of a function, however many of its processes are killed on the way to it."""
    while time.monotonic() < until_s:
        try:
            answer: Answer = ask()
        except urllib3.exceptions.HTTPError:
            continue
        if answer.status < 500:
            return answer
        time.sleep(0.5)
    raise TimeoutError("nobody has answered")


def wanted(order: Order, client: Client, *, until_s: float) -> str:
    """One client's part: orders, then cancels, forgets, or polls to the end."""
    ordered = insisted(lambda: client.order(f"Picture {order.number}", key=order.key), until_s=until_s)
    assert ordered.status in {200, 202}, ordered
    task_id = str(ordered.json["taskId"])
    if order.dice < CANCELED:
        assert insisted(lambda: client.cancel(task_id), until_s=until_s).status in {202, 409}
    elif order.dice > FORGOTTEN + CANCELED:
        while time.monotonic() < until_s:
            seen = insisted(lambda: client.image(task_id), until_s=until_s)
            if seen.json["terminal"]:
                break
            time.sleep(float(seen.headers["retry-after"]))
    return task_id


@contextmanager
def killed_at_random(models: Providers, kills: Counter[str]) -> Iterator[None]:
    """Kills processes of the functions of pictures, one after another, at moments that nobody knows."""
    over, dice = Event(), random.Random(SEED)

    def kill() -> None:
        # One at a time, as a machine that is busy starting sixteen new ones gets nowhere.
        while not over.wait(dice.uniform(2.0, 5.0)) and kills.total() < MOST_KILLS:
            function = dice.choice(["ImagesApi", "ImagesApi", "ImagesSweeper"])
            kills[function] += models.kill(function, most=1)

    killer = Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def pages(client: Client, what: str) -> list[Any]:
    """Everything in a list that comes by pages."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.images(limit=100, **cursor) if what == "images" else client.credits(limit=100, **cursor)
        found += page.json[what]
        if page.json["cursor"] is None:
            return found
        cursor = {"cursor": page.json["cursor"]}


def opens(task: Any) -> bool:
    with Image.open(io.BytesIO(urllib3.request("GET", task["imageUrl"]).data)) as picture:
        picture.load()
        return picture.size == (task["result"]["width"], task["result"]["height"])


@pytest.mark.usefixtures("mortal")
def test_every_account_balances_to_the_entry_and_every_picture_opens(models: Providers, users: list[Client]) -> None:
    models.predictions.play(manners.good(), chances=CHANCES, seed=SEED)
    kills: Counter[str] = Counter()
    orders = [Order(number, number % USERS) for number in range(MANY)]
    until_s = time.monotonic() + LONGEST_S
    with killed_at_random(models, kills), ThreadPoolExecutor(CLIENTS) as clients:
        ids = list(clients.map(lambda order: wanted(order, users[order.user], until_s=until_s), orders))
    assert len(set(ids)) == MANY

    def all_over() -> bool:
        return all(task["terminal"] for user in users for task in pages(user, "images"))

    wait_until(all_over, description="the sweeper has ended what nobody polls", timeout_s=240)
    ends: Counter[str] = Counter()
    for number, user in enumerate(users):
        tasks, entries = pages(user, "images"), pages(user, "entries")
        assert len(tasks) == sum(order.user == number for order in orders)
        delivered = [task for task in tasks if task["status"] == "completed"]
        assert all(opens(task) for task in delivered)
        counted = Counter(entry["id"] for entry in entries)
        assert counted == Counter(
            ["grant#welcome"]
            + [f"charge#{task['taskId']}" for task in tasks]
            + [f"refund#{task['taskId']}" for task in tasks if task["status"] != "completed"]
        )
        balance = user.credits().json["balance"]
        assert balance == sum(entry["credits"] for entry in entries) == GRANT - PRICE * len(delivered)
        ends.update(task.get("error", {}).get("code", task["status"]) for task in tasks)
    keys = models.predictions.record.as_json()["keys"].values()
    assert max(len(known["ids"]) for known in keys) == 1, "one key is one prediction"
    print(f"{MANY} pictures: {dict(ends)}; killed: {dict(kills)}")  # noqa: T201 - with -s, or where it fails
    assert kills.total() > 0
    assert ends["completed"] > 0
