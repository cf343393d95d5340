"""Waiting, pools, settings, texts and the poll: decisions that need nothing but their arguments."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane import backoff
from isolane.api import NOBODY, Request
from isolane.characters import clean
from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, InvalidRequest, TooLarge
from isolane.pool import Pool
from isolane.settings import VARIABLES, Settings
from isolane.task import Status, Task, as_json, from_row, retry_after_s, to_row
from scoring.polling import answer, preferred_wait_s, wait_for_end
from scoring.text import LONGEST_TEXT, text_of
from tests.world import Clock, settings

VARIABLES_NEEDED = "TASKS_TABLE STATE_TABLE VALUES_TABLE BUCKET SCORE_QUEUE_URL SCORE_DEAD_LETTER_QUEUE_URL"
NEEDED = dict.fromkeys(VARIABLES_NEEDED.split(), "x")


@given(attempt=st.integers(1, 100))
def test_waits_between_attempts_double_up_to_two_minutes(attempt: int) -> None:
    longest = min(2.0 * 2 ** (attempt - 1), 120.0)
    assert backoff.after_attempt(attempt, jitter=lambda _, high: high) == longest
    assert 1.0 <= backoff.after_attempt(attempt) <= longest


def test_a_day_of_waiting_stays_far_under_the_backstop_of_receives() -> None:
    age_s, receives = 0.0, 0
    while age_s < 86_400:
        age_s += backoff.after_waiting(age_s, jitter=lambda low, high: (low + high) / 2)
        receives += 1
    assert receives < 1000


def test_waits_are_never_in_step() -> None:
    assert len({backoff.after_waiting(60.0) for _ in range(50)}) == 50


def test_a_pool_gives_its_place_back_on_an_error() -> None:
    pool = Pool(1)
    with pytest.raises(RuntimeError), pool:
        raise RuntimeError
    with pool:
        pass


def test_a_pool_works_on_no_more_than_its_size_at_once_and_keeps_the_order() -> None:
    lock, inside, most = threading.Lock(), 0, 0
    barrier = threading.Barrier(3)

    def work(item: int) -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        barrier.wait(timeout=10)  # only three at once get past it
        with lock:
            inside -= 1
        return item * item

    assert Pool(3).map(work, range(9)) == [item * item for item in range(9)]
    assert most == 3


def test_every_item_is_worked_on_even_where_one_raises() -> None:
    done: list[int] = []

    def work(item: int) -> None:
        done.append(item)
        if item == 0:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        Pool(2).map(work, range(5))
    assert sorted(done) == list(range(5))


def test_settings_are_read_once_and_checked() -> None:
    read = Settings.from_env({**NEEDED, "MAX_RETRIES": "5", "ALLOW_ANONYMOUS": "true", "OPENAI_API_KEY": "sk-secret"})
    assert (read.max_attempts, read.allow_anonymous, read.endpoint_url) == (6, True, "")
    assert "sk-secret" not in repr(read)
    assert {"AWS_ENDPOINT_URL", "TASKS_TABLE", "OPENAI_API_KEY"} <= VARIABLES


@pytest.mark.parametrize("wrong", [{"BUCKET": ""}, {"MAX_RETRIES": "many"}, {"ALLOW_ANONYMOUS": "perhaps"}])
def test_a_wrong_setting_is_named_and_not_shown(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Settings.from_env({**NEEDED, **wrong})
    assert next(iter(wrong)) in refusal.value.message
    assert "many" not in refusal.value.message


def test_a_function_under_sam_local_without_an_endpoint_refuses_to_start() -> None:
    with pytest.raises(ConfigurationError, match="EndpointUrl"):
        Settings.from_env({**NEEDED, "AWS_SAM_LOCAL": "true"})
    Settings.from_env({**NEEDED, "AWS_SAM_LOCAL": "true", "AWS_ENDPOINT_URL": "http://172.17.0.1:4566"})
    assert settings().allow_anonymous is False


def test_a_text_is_cleaned_of_what_nobody_sees() -> None:
    assert clean(" \ufeffe\u0301\x00\x1b[31m\r\nb\tc\r \n") == "\ufeffé[31m\nb\tc"


def test_a_tower_of_accents_is_cut_and_takes_no_time() -> None:
    started_s = time.process_time()
    cleaned = clean("a" + "\u0300\u0323" * 200_000)
    assert time.process_time() - started_s < 2  # quadratic: minutes
    assert 1 < len(cleaned) <= 31
    assert clean("e\u0301" * 1000) == "é" * 1000


_INVISIBLE = (
    "\u200b",
    "\ufeff",
    "\u2060",
    "\u00ad",
    "\u3164",
    "\u200b \ufeff\n\u00ad",
    "\U000e0001\U000e007f",
    "\ufe0f",
)


def test_a_byte_order_mark_at_the_start_does_not_count() -> None:
    assert clean("\ufeffA text.") == clean("A text.") == "A text."
    assert len(text_of({"text": "\ufeff" + "a" * LONGEST_TEXT})) == LONGEST_TEXT


@pytest.mark.parametrize(
    "body",
    [{}, {"text": None}, {"text": ""}, {"text": " \n\x00 "}, *({"text": text} for text in _INVISIBLE)],
)
def test_no_text_is_text_required(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        text_of(body)
    assert refusal.value.code == "text_required"


@pytest.mark.parametrize("text", [1, ["a"], {"a": 1}, True])
def test_a_text_is_a_string(text: Any) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        text_of({"text": text})
    assert refusal.value.code == "invalid_request"


def test_length_is_counted_in_characters_after_cleaning() -> None:
    assert len(text_of({"text": "e\u0301" * LONGEST_TEXT + "  "})) == LONGEST_TEXT
    with pytest.raises(TooLarge) as refusal:
        text_of({"text": "長" * (LONGEST_TEXT + 1)})
    assert refusal.value.code == "text_too_long"


def task(**changes: Any) -> Task:
    made: dict[str, Any] = {
        "task_id": "t", "kind": "score", "owner": "ann", "nonce": "n", "fingerprint": "f",
        "created_at_ms": 1_800_000_000_123, "deadline_ms": 1_800_086_400_000, "ttl": 1_800_090_000,
    }  # fmt: skip
    return Task(**{**made, **changes})


@pytest.mark.parametrize(
    ("age_s", "wait_s"),
    [
        (0, 2),
        (1.9, 2),
        (2, 3),
        (4.9, 3),
        (5, 5),
        (9.9, 5),
        (10, 8),
        (17.9, 8),
        (18, 13),
        (30.9, 13),
        (31, 15),
        (9e4, 15),
    ],
)
def test_the_time_to_ask_again_grows_with_the_age(age_s: float, wait_s: int) -> None:
    assert retry_after_s(task(), 1_800_000_000_123 + int(age_s * 1000)) == wait_s


def test_a_task_in_review_is_asked_for_each_minute() -> None:
    assert retry_after_s(task(status=Status.IN_REVIEW), 1_800_000_000_123) == 60


def test_a_task_as_its_owner_sees_it() -> None:
    assert as_json(task()) == {
        "taskId": "t", "kind": "score", "status": "pending", "terminal": False,
        "createdAt": "2027-01-15T08:00:00.123Z", "attempt": 0,
    }  # fmt: skip
    done = as_json(task(status=Status.COMPLETED, result={"score": 0}, model="m", cached=True, finished_at_ms=0))
    assert (done["score"], done["result"], done["cached"], done["terminal"]) == (0, {"score": 0}, True, True)
    assert done["finishedAt"] == "1970-01-01T00:00:00.000Z"


def test_a_task_survives_its_row() -> None:
    whole = task(result={"score": 0.1, "list": []}, progress={"done": 1, "of": 3}, claim="c", claim_until_ms=0)
    assert from_row(to_row(whole)) == whole


def request(*, prefer: str | None = None, **query: str) -> Request:
    headers = {"prefer": prefer} if prefer is not None else {}
    return Request(
        method="GET", path="/", headers=headers, query=query, body=None, is_base64=False, request_id="r",
        deadline=Deadline.after(25), caller=NOBODY,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("prefer", "wait_s"),
    [
        ("wait=5", 5), ("respond-async, wait=10", 10), ("WAIT = 7", 7), ('wait="3"', 3), ("wait=99", 20), ("wait=0", 0),
        ("wait=abc", 0), ("nowait=5", 0), ("", 0), ("wait=-1", 0), ("wait=5; foo", 5), ("wait=" + "9" * 5000, 20),
    ],
)  # fmt: skip
def test_a_preference_that_cannot_be_read_is_none(prefer: str, wait_s: int) -> None:
    assert preferred_wait_s(request(prefer=prefer)) == wait_s


def test_a_query_that_cannot_be_read_is_refused() -> None:
    assert preferred_wait_s(request(wait="30")) == 20
    with pytest.raises(InvalidRequest):
        preferred_wait_s(request(wait="soon"))


def test_a_long_poll_looks_at_least_once_a_second_and_ends_with_the_task() -> None:
    clock, looks = Clock(0.0), [task(), task(), task(status=Status.COMPLETED)]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)

    end = wait_for_end(lambda: looks.pop(0), wait_s=20, deadline=Deadline.after(25, clock=clock), sleep=sleep)
    assert end.terminal
    assert max(waits) <= 1


@pytest.mark.parametrize(("wait_s", "left_s", "most_s"), [(3, 25, 3), (20, 5, 5), (0, 25, 0)])
def test_a_long_poll_ends_with_its_time(wait_s: int, left_s: float, most_s: float) -> None:
    clock = Clock(0.0)
    end = wait_for_end(task, wait_s=wait_s, deadline=Deadline.after(left_s, clock=clock), sleep=clock.advance)
    assert not end.terminal
    assert clock.now_s == pytest.approx(most_s)


def test_only_a_task_that_is_not_terminal_says_when_to_ask_again() -> None:
    assert answer(task(), now_ms=1_800_000_000_123).headers == {"Retry-After": "2"}
    assert answer(task(status=Status.FAILED), now_ms=1_800_000_000_123).headers == {}
