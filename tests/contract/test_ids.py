"""An id that no task can have is told apart before DynamoDB sees it, which takes no key above 2 KB."""

from __future__ import annotations

import base64
import json

import pytest

from isolane.errors import InvalidCursor, NotFound
from isolane.task_list import list_tasks
from tests.application import Application
from tests.world import World, receive

TOO_LONG = "a" * 3_000
IMPOSSIBLE = ["", TOO_LONG, "é", "\ud800"]


@pytest.mark.parametrize("task_id", IMPOSSIBLE)
def test_there_is_no_task_with_an_impossible_id(world: World, task_id: str) -> None:
    for call in (world.tasks.read, world.tasks.cancel):
        with pytest.raises(NotFound) as refused:
            call(task_id, owner="ann")
        assert refused.value.code == "task_not_found"


@pytest.mark.parametrize(
    "position",
    [
        {"t": TOO_LONG, "c": 1},
        {"t": "", "c": 1},
        {"t": "a", "c": -1},
        {"t": "a", "c": 10**40},
        {"t": "a", "c": True},
        {"t": "a", "c": 1, "o": "ann"},
        {"t": "a"},
    ],
)
def test_a_position_that_no_page_ended_at_is_not_a_cursor(world: World, position: dict[str, object]) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(position).encode()).decode()
    with pytest.raises(InvalidCursor):
        list_tasks(world.tasks, owner="ann", limit=1, cursor=cursor)


def test_a_message_with_an_impossible_id_is_put_aside_at_once_and_kept(whole_world: World) -> None:
    app = Application(whole_world)
    app.queue.send(json.dumps({"task_id": TOO_LONG, "nonce": "n", "text": "a"}))
    assert app.deliver() == {"batchItemFailures": []}
    assert app.bury(receive(app.dead)) == {"batchItemFailures": []}
    (letter,) = app.letters()
    assert letter["reason"] == "invalid_request"
