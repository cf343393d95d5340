"""Documents through a deployed stack, a thousand of them too, with a provider that records its calls."""

from __future__ import annotations

import uuid
from typing import Any

from isolane.blocks import BLOCK, from_row
from isolane.permits import Permits
from tests.doubles import steps
from tests.integration.conftest import Models
from tests.waiting import wait_until

MODEL = "openai:test-embedding"


def documents(count: int) -> list[dict[str, str]]:
    """Documents that nobody has had embedded before."""
    run = uuid.uuid4().hex[:8]
    return [{"id": f"{run}-{number}", "text": f"Text {number} of run {run}."} for number in range(count)]


def submitted(models: Models, posted: list[dict[str, str]]) -> str:
    answer = models.api.call("POST", "/api/embed/batch", body={"documents": posted})
    assert answer.status == 202, answer
    assert answer.json["queued"] == len(posted)
    assert answer.json["estimatedTime"] >= 1
    return str(answer.json["batchId"])


def progress(models: Models, batch_id: str) -> dict[str, Any]:
    answer = models.api.call("GET", f"/api/embed/batches/{batch_id}")
    assert answer.status == 200
    return dict(answer.json)


def ended(models: Models, batch_id: str, *, timeout_s: float = 240) -> dict[str, Any]:
    return wait_until(
        lambda: now if (now := progress(models, batch_id))["progress"] == 100 else None,
        description="the batch has come to an end",
        timeout_s=timeout_s,
    )


def stored(models: Models) -> list[str]:
    return [
        entry.document_id
        for row in models.rows(models.state)
        if row["sk"].startswith(BLOCK)
        for entry in from_row(row).entries
    ]


def test_a_thousand_documents_no_more_at_once_than_the_limit_which_is_lowered_half_way(models: Models) -> None:
    models.server.play(steps.embeddings(delay_s=0.2))
    permits = Permits(models.state)
    permits.set_limit(MODEL, limit=5)
    posted = documents(1_000)
    batch_id = submitted(models, posted)
    seen = [0]

    def half_way() -> bool:
        seen.append(progress(models, batch_id)["completed"])
        return seen[-1] >= 500

    wait_until(half_way, description="half of them are done", timeout_s=240)
    assert seen == sorted(seen), "progress only grows"
    permits.set_limit(MODEL, limit=2)
    wait_until(lambda: len(permits.holders(MODEL)) <= 2, description="the lower limit holds", timeout_s=30)
    before, models.server.book.max_concurrency = models.server.max_concurrency, 0
    # LocalStack works off one batch of a queue after another.
    assert (1 if models.deployment.emulator.name == "localstack" else 2) <= before <= 5
    assert ended(models, batch_id) == {"total": 1000, "completed": 1000, "failed": 0, "progress": 100, "errors": []}
    assert models.server.max_concurrency <= 2
    permits.set_limit(MODEL, limit=5)
    mine = [name for name in stored(models) if name.startswith(posted[0]["id"].partition("-")[0])]
    assert sorted(set(mine)) == sorted(each["id"] for each in posted)
    asked = [text for request in models.server.requests for text in request.json["input"]]
    assert sorted(asked) == sorted(each["text"] for each in posted), "each was asked for once"


def test_a_document_finds_itself_first_and_one_that_is_refused_fails_alone(models: Models) -> None:
    posted = documents(30)
    models.server.play(steps.embeddings(refuses=posted[7]["text"]))
    now = ended(models, submitted(models, posted))
    assert (now["completed"], [each["id"] for each in now["errors"]]) == (29, [posted[7]["id"]])
    answer = models.api.call("POST", "/api/embed/search", body={"text": posted[11]["text"], "limit": 3})
    assert answer.json["matches"][0] == {"id": posted[11]["id"], "similarity": 1.0}


def test_what_has_failed_for_good_is_told_with_its_reason(models: Models) -> None:
    posted = documents(2)
    models.server.play(steps.failure(401, "invalid_api_key"))
    now = ended(models, submitted(models, posted))
    assert sorted(each["id"] for each in now["errors"]) == [each["id"] for each in posted]
    assert {each["code"] for each in now["errors"]} == {"model_rejected"}
