"""Long texts, equal texts and averages through the worker, on every backend with queues: what is asked, and paid."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from isolane.deadline import Deadline
from isolane.flight import Flight
from isolane.model_errors import ModelBusy, ModelRefused
from scoring.cache import cache_key
from scoring.cutting import parts_of
from scoring.openai_model import OpenAiModel
from scoring.prompt import Prompt
from scoring.scorers import BuiltinScorer, ModelScorer, Scorer
from tests.application import Application
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.doubles.scripted_model import saying, verdict
from tests.world import World, receive

PARAGRAPHS = tuple(f"{letter} river shapes the land, for water carries soil. " * 80 for letter in "ABC")
LONG = "\n\n".join(PARAGRAPHS).strip()
SHORT = "Rivers shape the land."
MARKS = {"A": 60, "B": 70, "C": 80}


@dataclass
class Reader:
    """A model that marks each paragraph by its first letter, counts what it is asked, and may be told to fail."""

    asked: list[str] = field(default_factory=list)
    fails: dict[int, Exception] = field(default_factory=dict)
    """What befalls its n-th request, from 1."""
    meanwhile: Any = None

    def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:  # noqa: ARG002 - it answers at once
        text = prompt.user.split("\n", 1)[1]
        self.asked.append("summary" if text.startswith("Part 1") else text[0])
        if self.meanwhile is not None:
            self.meanwhile()
        if len(self.asked) in self.fails:
            raise self.fails[len(self.asked)]
        comment = "On the whole." if self.asked[-1] == "summary" else f"On {self.asked[-1]}."
        reply = json.dumps(verdict(MARKS.get(self.asked[-1], 1), comments=[comment]))
        return reply.replace("{nonce}", prompt.nonce)


def application(world: World, *scorers: Scorer, **changes: str) -> Application:
    return Application(world, scorers=scorers, changes={"MODEL_CONCURRENCY": "0", **changes})


def submit(app: Application, text: str = LONG, **more: Any) -> tuple[str, dict[str, Any]]:
    task_id = app.call("POST", "/score", body={"text": text}, **more)["json"]["taskId"]
    return task_id, next(record for record in receive(app.queue) if task_id in record["body"])


def task(app: Application, task_id: str) -> Any:
    return app.call("GET", "/result", query={"taskId": task_id})["json"]


def comes_again(app: Application, record: dict[str, Any], *, left_s: float = 60) -> bool:
    return bool(app.work([record], left_s=left_s)["batchItemFailures"])


def test_the_parts_of_the_test_are_its_paragraphs() -> None:
    assert parts_of(LONG) == tuple(map(str.strip, PARAGRAPHS))


def test_a_long_text_is_scored_in_parts_and_summed_up(whole_world: World) -> None:
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)
    assert not comes_again(app, record)
    done = task(app, task_id)
    assert (done["score"], done["model"], done["attempt"]) == (70, "openai:a", 1)
    assert (done["result"]["comments"], done["result"]["truncated"]) == (["On the whole."], False)
    assert "progress" not in done
    assert reader.asked == ["A", "B", "C", "summary"]


def test_a_redelivery_pays_for_no_part_twice(whole_world: World) -> None:
    """The worker dies at the third part; its claim and its flight lapse, and another goes on."""
    reader = Reader(fails={3: RuntimeError("the worker dies")})
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)
    assert comes_again(app, record)
    whole_world.clock.advance(65)
    assert not comes_again(app, record)
    assert (task(app, task_id)["score"], task(app, task_id)["attempt"]) == (70, 2)
    assert reader.asked == ["A", "B", "C", "C", "summary"]


def test_what_is_not_finished_in_time_is_gone_on_with_and_costs_no_attempt(whole_world: World) -> None:
    """Models have just the time of one call in a delivery, so that each delivery does one part."""
    reader = Reader()
    limits = {"WORKER_TIMEOUT_SECONDS": "12", "MODEL_TIMEOUT_SECONDS": "9"}
    app = application(whole_world, ModelScorer("openai:a", reader), **limits)
    task_id, record = submit(app)
    progress = []
    for _ in range(3):
        assert comes_again(app, record, left_s=12)
        progress.append((task(app, task_id)["status"], task(app, task_id)["progress"]["done"]))
        whole_world.clock.advance(3)
    assert not comes_again(app, record, left_s=12)
    assert progress == [("pending", 0), ("pending", 1), ("pending", 2)]
    done = task(app, task_id)
    assert (done["score"], done["attempt"]) == (70, 1)
    assert Counter(reader.asked) == {"A": 1, "B": 1, "C": 1, "summary": 1}


def test_a_model_that_is_busy_after_a_part_costs_no_attempt(whole_world: World) -> None:
    reader = Reader(fails={number: ModelBusy() for number in (2, 4, 6)})
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)
    while comes_again(app, record):
        whole_world.clock.advance(5)
    done = task(app, task_id)
    assert (done["status"], done["attempt"], done["score"]) == ("completed", 1, 70)
    assert Counter(reader.asked) == {"A": 1, "B": 2, "C": 2, "summary": 2}


def test_a_part_that_always_fails_has_its_attempts_and_no_more(whole_world: World) -> None:
    reader = Reader(fails={number: ModelBusy() for number in range(2, 50)})
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)
    while comes_again(app, record):
        whole_world.clock.advance(130)
    assert (task(app, task_id)["error"]["code"], task(app, task_id)["attempt"]) == ("attempts_exhausted", 4)
    assert Counter(reader.asked) == {"A": 1, "B": 5}


def test_where_no_summary_can_be_had_the_parts_speak_for_the_whole(whole_world: World) -> None:
    app = application(whole_world, ModelScorer("openai:a", Reader(fails={4: ModelRefused()})))
    task_id, record = submit(app)
    assert not comes_again(app, record)
    assert (task(app, task_id)["score"], task(app, task_id)["result"]["comments"]) == (70, ["On A.", "On B.", "On C."])


def test_equal_parts_are_asked_about_once(whole_world: World) -> None:
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    _, record = submit(app, text="\n\n".join([PARAGRAPHS[0].strip()] * 3))
    assert not comes_again(app, record)
    assert reader.asked == ["A", "summary"]


def test_the_rubric_reads_a_long_text_whole(whole_world: World) -> None:
    app = application(whole_world, BuiltinScorer())
    task_id, record = submit(app)
    assert not comes_again(app, record)
    assert task(app, task_id)["score"] == BuiltinScorer().score(LONG, deadline=Deadline.after(60)).score


def test_a_canceled_text_is_paid_for_no_further(whole_world: World) -> None:
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)

    def cancel_at_the_second_part() -> None:
        whole_world.clock.advance(2)
        if len(reader.asked) == 2:
            app.call("DELETE", f"/tasks/{task_id}")

    reader.meanwhile = cancel_at_the_second_part
    assert comes_again(app, record)
    assert not comes_again(app, record)
    assert (task(app, task_id)["status"], reader.asked) == ("canceled", ["A", "B"])


def test_progress_is_seen_while_it_runs(whole_world: World) -> None:
    reader, seen = Reader(), []
    app = application(whole_world, ModelScorer("openai:a", reader))
    task_id, record = submit(app)

    def look() -> None:
        seen.append(task(app, task_id).get("progress"))
        whole_world.clock.advance(1)

    reader.meanwhile = look
    assert not comes_again(app, record)
    assert seen == [{"done": 0, "of": 3}, {"done": 0, "of": 3}, {"done": 2, "of": 3}, {"done": 2, "of": 3}]


# Equal texts at once


def test_equal_texts_of_one_owner_cost_one_call(whole_world: World) -> None:
    """The second worker comes while the first one's model thinks; it waits, and takes what the first has made."""
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    first_id, first = submit(app, text=SHORT)
    second_id, second = submit(app, text=SHORT)
    waited: list[bool] = []

    def meanwhile() -> None:
        waited.append(comes_again(app, second))
        assert app.call("POST", "/score", body={"text": SHORT})["statusCode"] == 202, "a flight is no score"

    reader.meanwhile = meanwhile
    assert not comes_again(app, first)
    assert (waited, task(app, second_id)["attempt"], task(app, second_id)["status"]) == ([True], 0, "pending")
    assert not comes_again(app, second)
    done = task(app, second_id)
    assert (done["cached"], done["result"]) == (True, task(app, first_id)["result"])
    assert len(reader.asked) == 1


def test_where_the_leader_fails_the_next_one_takes_over_at_once(whole_world: World) -> None:
    reader = Reader(fails={1: ModelRefused()})
    app = application(whole_world, ModelScorer("openai:a", reader))
    (first_id, first), (second_id, second) = submit(app, text=SHORT), submit(app, text=SHORT)
    assert not comes_again(app, first)
    assert not comes_again(app, second)
    assert (task(app, first_id)["status"], task(app, second_id)["status"]) == ("failed", "completed")


def test_where_the_leader_died_the_next_one_takes_over_when_its_lease_has_lapsed(whole_world: World) -> None:
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    key = cache_key(SHORT, owner="local", chain="builtin")
    assert isinstance(app.bindings.flights.board(key, holder="dead", lease_s=60), Flight)
    task_id, record = submit(app, text=SHORT)
    assert comes_again(app, record)
    assert (task(app, task_id)["attempt"], reader.asked) == (0, [])
    whole_world.clock.advance(62)
    assert not comes_again(app, record)
    assert (task(app, task_id)["status"], len(reader.asked)) == ("completed", 1)


def test_tenants_do_not_share_a_flight(whole_world: World) -> None:
    reader = Reader()
    app = application(whole_world, ModelScorer("openai:a", reader))
    token = app.bindings.callers.issue("ann", roles=["user"])
    _, mine = submit(app, text=SHORT)
    _, anns = submit(app, text=SHORT, headers={"Authorization": f"Bearer {token}"})
    meanwhile: list[bool] = []

    def look() -> None:
        reader.meanwhile = None
        meanwhile.append(comes_again(app, anns))

    reader.meanwhile = look
    assert not comes_again(app, mine)
    assert (meanwhile, len(reader.asked)) == ([False], 2)


def test_without_a_cache_nobody_waits_and_parts_are_a_tasks_own(whole_world: World) -> None:
    reader = Reader(fails={2: ModelBusy()})
    app = application(whole_world, ModelScorer("openai:a", reader), CACHE_SECONDS="0")
    for _ in range(2):
        _, record = submit(app)
        while comes_again(app, record):
            whole_world.clock.advance(5)
    assert Counter(reader.asked) == {"A": 2, "B": 3, "C": 2, "summary": 2}


# Averages


def average_of(world: World, *scorers: Scorer, **changes: str) -> Application:
    return application(world, *scorers, SCORER_POLICY="average", **changes)


def test_an_average_names_all_who_answered_and_holds_for_a_day(whole_world: World) -> None:
    scorers = [
        ModelScorer(f"openai:{name}", saying(json.dumps(verdict(mark)))) for name, mark in (("a", 60), ("b", 70))
    ]
    app = average_of(whole_world, *scorers)
    task_id, record = submit(app, text=SHORT)
    assert not comes_again(app, record)
    assert (task(app, task_id)["score"], task(app, task_id)["model"]) == (65, "openai:a,openai:b")
    whole_world.clock.advance(3_000)
    assert app.call("POST", "/score", body={"text": SHORT})["statusCode"] == 200


def test_an_average_without_somebody_holds_for_ten_minutes(whole_world: World) -> None:
    scorers = [ModelScorer("openai:a", saying(json.dumps(verdict(60)))), ModelScorer("openai:b", saying(ModelBusy()))]
    app = average_of(whole_world, *scorers)
    task_id, record = submit(app, text=SHORT)
    assert not comes_again(app, record)
    assert (task(app, task_id)["score"], task(app, task_id)["model"]) == (60, "openai:a")
    whole_world.clock.advance(600)
    assert app.call("POST", "/score", body={"text": SHORT})["statusCode"] == 202


def test_an_average_waits_for_a_permit_and_leaves_out_who_is_down(whole_world: World) -> None:
    models = [saying(json.dumps(verdict(60))), saying(json.dumps(verdict(70)))]
    scorers = [ModelScorer(f"openai:{name}", model) for name, model in zip("ab", models, strict=True)]
    app = average_of(whole_world, *scorers, MODEL_CONCURRENCY="1")
    task_id, record = submit(app, text=SHORT)
    lease = app.bindings.permits.acquire("openai:b", holder="other", lease_s=600, limit=1)
    assert lease is not None
    assert comes_again(app, record)
    assert (task(app, task_id)["attempt"], [len(model.prompts) for model in models]) == (0, [0, 0])
    assert app.bindings.permits.holders("openai:a") == [], "what was taken for nothing is given back"
    app.bindings.permits.release(lease)
    app.bindings.breaker.failed("openai:a", retry_after_s=60)
    assert not comes_again(app, record)
    assert task(app, task_id)["model"] == "openai:b"


# What it can cost


@pytest.mark.parametrize("policy", ["fallback", "average"])
def test_requests_of_one_task_are_bounded_over_code_chain_and_queue(whole_world: World, policy: str) -> None:
    """Two endpoints that first talk nonsense and then break: 2 requests x 2 scorers x 4 attempts, and no more."""
    with ModelServer() as one, ModelServer() as two:
        scorers = []
        for server, name in ((one, "a"), (two, "b")):
            server.play(*[steps.content("nonsense"), steps.error_page(500)] * 50)
            model = OpenAiModel(base_url=server.base_url, model=name, key="", timeout_s=5)
            scorers.append(ModelScorer(f"openai:{name}", model))
        app = application(whole_world, *scorers, SCORER_POLICY=policy)
        task_id, record = submit(app, text=SHORT)
        deliveries = 0
        while comes_again(app, record):
            whole_world.clock.advance(130)
            deliveries += 1
            assert deliveries < 50
        failed = task(app, task_id)
        assert (failed["error"]["code"], failed["attempt"]) == ("attempts_exhausted", 4)
        assert len(one.requests) + len(two.requests) == 2 * 2 * 4
