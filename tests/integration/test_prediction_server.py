"""The double of a provider of pictures: well-behaved unless told otherwise, and run as a process too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from isolane import http
from isolane.deadline import Deadline
from tests.doubles import manners
from tests.doubles.prediction_server import PredictionServer
from tests.doubles.steps import status
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SHORT = {"starting_s": 0.5, "processing_s": 0.5}


@pytest.fixture
def server() -> Iterator[PredictionServer]:
    with PredictionServer() as running:
        yield running


def fetch(method: str, url: str, body: Any = None, **headers: str) -> http.Reply:
    return http.request(
        method,
        url,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=None if body is None else json.dumps(body).encode(),
        deadline=Deadline.after(10),
        timeout_s=10,
        max_bytes=1_000_000,
    )


def call(method: str, url: str, body: Any = None, **headers: str) -> Any:
    return json.loads(fetch(method, url, body, **headers).body)


def submit(base_url: str, key: str = "k1") -> Any:
    url = f"{base_url}/models/somebody/something/predictions"
    return call("POST", url, {"input": {"prompt": "a fox"}}, Idempotency_Key=key)


def test_a_picture_waits_is_worked_on_and_is_there(server: PredictionServer) -> None:
    server.play(manners.good(**SHORT))
    made = submit(server.base_url)
    assert made["status"] == "starting"
    seen = [made["status"]]

    def over() -> Any:
        now = call("GET", f"{server.base_url}/predictions/{made['id']}")
        seen.append(now["status"])
        return now if now["status"] == "succeeded" else None

    [picture] = wait_until(over, description="the prediction has succeeded")["output"]
    assert sorted(set(seen), key=seen.index) == ["starting", "processing", "succeeded"]
    assert picture.startswith(server.url)
    assert fetch("GET", picture).body.startswith(b"\x89PNG")


def test_a_key_is_one_prediction(server: PredictionServer) -> None:
    assert submit(server.base_url)["id"] == submit(server.base_url)["id"] != submit(server.base_url, "k2")["id"]
    keys = call("GET", f"{server.url}/requests")["keys"]
    assert {key: (of["submits"], len(of["ids"])) for key, of in keys.items()} == {"k1": (2, 1), "k2": (1, 1)}


def test_a_key_is_two_where_keys_are_not_heeded(server: PredictionServer) -> None:
    server.play(manners.forgets_keys())
    assert submit(server.base_url)["id"] != submit(server.base_url)["id"]
    assert len(server.predictions.made_for("k1")) == 2


def test_a_submit_may_fail_and_have_made_one_all_the_same(server: PredictionServer) -> None:
    server.play(manners.submits(status(500), makes=True))
    url = f"{server.base_url}/models/somebody/something/predictions"
    assert fetch("POST", url, {"input": {"prompt": "a fox"}}, Idempotency_Key="k1").status == 500
    assert [submit(server.base_url)["id"]] == server.predictions.made_for("k1")


@pytest.mark.parametrize(
    ("told", "end"), [(manners.good(**SHORT), "canceled"), (manners.late(processing_s=0.5), "succeeded")]
)
def test_one_that_is_canceled_stops_and_a_late_one_succeeds_all_the_same(
    server: PredictionServer, told: manners.Manners, end: str
) -> None:
    server.play(told)
    url = f"{server.base_url}/predictions/{submit(server.base_url)['id']}"
    call("POST", f"{url}/cancel")
    assert wait_until(lambda: end_of(url), description="it has ended") == end


def end_of(url: str) -> str | None:
    status: str = call("GET", url)["status"]
    return None if status in {"starting", "processing"} else status


def test_chance_gives_a_key_the_same_each_time() -> None:
    chances = {"fails": 0.2, "lost": 0.05, "late": 0.05}

    def draw(key: int, **other: Any) -> manners.Manners:
        return manners.drawn(chances, key=str(key), **{"seed": 7, "submits": 1, "base": manners.at_once(), **other})

    drawn = [draw(key) for key in range(1_000)]
    assert drawn == [draw(key) for key in range(1_000)] != [draw(key, seed=8) for key in range(1_000)]
    assert 150 < sum(each["ends"] == "failed" for each in drawn) < 250
    assert 25 < sum(each["lost"] for each in drawn) < 80
    assert 25 < sum(not each["obeys"] for each in drawn) < 80


@contextmanager
def process() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.doubles.prediction_server", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().strip()
        running.terminate()


def test_it_runs_as_a_process_and_is_told_over_http_how_to_behave() -> None:
    with process() as base_url:
        url = base_url.removesuffix("/v1")
        call("PUT", f"{url}/script", {"manners": [manners.at_once()], "chances": {"fails": 1}, "seed": 1})
        made = submit(base_url)
        assert (made["status"], made["output"]) == ("failed", None)
        call("PUT", f"{url}/script", {"manners": [{"starting_s": 0, "processing_s": 0}]})
        assert submit(base_url, "k2")["status"] == "succeeded"
