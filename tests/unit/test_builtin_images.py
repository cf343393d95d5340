"""The builtin provider: a picture of each prompt, by and by, without a record of anything."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from images.builtin_images import BuiltinImages
from images.landscape import draw
from images.pictures import checked
from images.provider import Job, Made, Prediction, Provider, Waiting, Working
from isolane.deadline import Deadline

DEADLINE = Deadline.after(1_000)
JOB = Job(key="task-1", prompt="a red fox in the snow")
PROMPTS = [
    "a red fox in the snow",
    "a red fox in the snow.",
    "a red fox",
    "海很深",
    "",
    "x" * 10_000,
    "🦊" * 100,
    *map(str, range(40)),
]


def at(now_ms: int) -> Provider:
    return BuiltinImages(lambda: now_ms)


def ask(prediction_id: str, *, after_ms: int, job: Job = JOB) -> Prediction | None:
    return at(1_000_000 + after_ms).ask(prediction_id, job, deadline=DEADLINE)


@pytest.fixture
def prediction_id() -> str:
    return at(1_000_000).submit(JOB, deadline=DEADLINE)


@pytest.mark.parametrize(
    ("after_ms", "state"),
    [(-50, Waiting), (0, Waiting), (999, Waiting), (1_000, Working), (2_999, Working), (3_000, Made), (10**9, Made)],
)
def test_a_picture_waits_is_worked_on_and_is_there(prediction_id: str, after_ms: int, state: type) -> None:
    assert isinstance(ask(prediction_id, after_ms=after_ms), state)


def test_what_is_collected_is_the_picture_of_the_prompt(prediction_id: str) -> None:
    made = ask(prediction_id, after_ms=3_000)
    assert isinstance(made, Made)
    assert made.collect(DEADLINE) == draw(JOB.prompt)


@pytest.mark.parametrize(
    "bad", ["", "builtin", "p0001", "builtin-1000000-0", "builtin-1000000-" + "0" * 32, "builtin--1-x"]
)
def test_an_id_that_was_never_given_out_is_unknown(bad: str) -> None:
    assert ask(bad, after_ms=3_000) is None


def test_an_id_is_its_jobs_and_its_moments_alone(prediction_id: str) -> None:
    assert ask(prediction_id, after_ms=3_000, job=replace(JOB, key="task-2")) is None
    assert ask(prediction_id, after_ms=3_000, job=replace(JOB, prompt="a blue fox")) is None
    assert ask(prediction_id.replace("1000000", "1000001"), after_ms=3_000) is None
    assert ask(prediction_id.replace("1000000", "01000000"), after_ms=3_000) is None
    assert ask(f"{prediction_id}\n", after_ms=3_000) is None


def test_canceling_changes_nothing(prediction_id: str) -> None:
    at(1_000_500).cancel(prediction_id, deadline=DEADLINE)
    assert isinstance(ask(prediction_id, after_ms=3_000), Made)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt[:20])
def test_a_prompt_has_one_picture_and_it_is_whole(prompt: str) -> None:
    picture = checked(draw(prompt))
    assert (picture.content_type, picture.width, picture.height) == ("image/png", 512, 512)
    assert picture.data == draw(prompt)


def test_other_prompts_have_other_pictures() -> None:
    assert len({draw(prompt) for prompt in PROMPTS}) == len(PROMPTS)


def test_a_picture_is_drawn_in_a_moment() -> None:
    started_s = time.process_time()
    draw("a red fox in the snow")
    assert time.process_time() - started_s < 0.3
