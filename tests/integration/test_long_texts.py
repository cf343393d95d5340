"""Long and equal texts on the deployed stack: in parts, over several deliveries, and each of them paid for once."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scoring.cutting import parts_of
from tests.doubles import steps
from tests.integration.conftest import Models
from tests.waiting import wait_until

SENTENCE = "天下大势，分久必合，合久必分。"


def novel(length: int) -> str:
    """A chapter that nobody has had scored before, nor any part of it: an earlier run's parts may be kept still."""
    run = uuid.uuid4().hex
    return f"{run}。\n" + ((SENTENCE * 12 + run[:8] + "\n") * (length // 180 + 1))[: length - 34]


def said(score: int, *, delay_s: float = 0) -> steps.Step:
    """A score with a comment that nobody has made before: what was said of parts is put together once, and kept."""
    return steps.score(score, delay_s=delay_s, comments=[uuid.uuid4().hex])


def test_a_chapter_of_sixty_thousand_characters_is_scored_in_its_parts(models: Models) -> None:
    models.server.play(said(80))
    text = novel(60_000)
    assert len(text) == 60_000
    done = models.api.wait(models.api.submit(text).json["taskId"], timeout_s=120)
    assert (done["status"], done["score"], done["result"]["truncated"]) == ("completed", 80, False)
    assert (done["model"], done["attempt"]) == ("openai:test-model", 1)
    assert len(models.server.requests) == len(set(parts_of(text))) + 1


def test_parts_that_take_several_deliveries_show_progress_and_cost_one_attempt(models: Models) -> None:
    """Each answer takes 1.5 s; models have 6 s of a delivery, and no part is begun with less than 4 s left."""
    models.server.play(said(70, delay_s=1.5))
    text = novel(30_000)
    task_id = models.api.submit(text).json["taskId"]
    parts = len(parts_of(text))

    def under_way() -> Any:
        return models.api.result(task_id).json.get("progress")

    progress = wait_until(under_way, description="progress is told", timeout_s=30)
    assert progress["of"] == parts
    assert 0 <= progress["done"] < parts
    done = models.api.wait(task_id, timeout_s=120)
    assert (done["status"], done["attempt"], done["score"]) == ("completed", 1, 70)
    assert "progress" not in done
    assert len(models.server.requests) == len(set(parts_of(text))) + 1


def test_equal_texts_submitted_at_once_cost_one_call(models: Models, text: str) -> None:
    models.server.play(steps.score(80, delay_s=1))
    with ThreadPoolExecutor(6) as threads:
        ids = [answer.json["taskId"] for answer in threads.map(models.api.submit, [text] * 6)]
        done = list(threads.map(lambda task_id: models.api.wait(task_id, timeout_s=90), ids))
    assert {(task["status"], task["score"]) for task in done} == {("completed", 80)}
    assert sum("cached" not in task for task in done) == 1
    assert models.asked_about(text) == 1


def test_where_the_leader_fails_the_others_are_scored(models: Models, text: str) -> None:
    models.server.play(steps.quota_exhausted(), steps.score(66))
    ids = [models.api.submit(text).json["taskId"] for _ in range(3)]
    done = [models.api.wait(task_id, timeout_s=90) for task_id in ids]
    assert sorted(task["status"] for task in done) == ["completed", "completed", "failed"]
    assert models.asked_about(text) == 2
