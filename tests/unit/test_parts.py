"""The marks of parts by their weight, comments for the whole, who answers by which policy, and how long it may take."""

from __future__ import annotations

import json

import pytest

from isolane.deadline import Deadline
from isolane.errors import ConfigurationError
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ReplyUnreadable
from scoring.cutting import fits
from scoring.limits import check, provider_s
from scoring.parts import what_was_said
from scoring.policy import average, score_by, wanted
from scoring.policy_name import Policy
from scoring.progress import Progress
from scoring.score import Score, weighted_mean
from scoring.scorers import BuiltinScorer, ModelScorer
from tests.doubles.scripted_model import Answer, saying, verdict
from tests.world import Clock, settings

TEXT = "An essay about the sea. It is deep, and it is wide."
PLENTY = Deadline(600.0, lambda: 0.0)


def scored(score: int, **dimensions: int) -> Score:
    return Score(score=score, dimensions=dimensions, comments=(f"It has {score}.",), requests=1)


def says(score: int, comment: str = "Clear.") -> str:
    return json.dumps(verdict(score, comments=[comment]))


def scorer(name: str, *answers: Answer) -> ModelScorer:
    return ModelScorer(name, saying(*answers))


def test_a_mean_is_weighted_and_rounded_half_up() -> None:
    mean = weighted_mean([(3, scored(50, a=10)), (1, scored(52, a=11, b=7))], comments=(), requests=4)
    assert (mean.score, dict(mean.dimensions), mean.requests) == (51, {"a": 10, "b": 7}, 4)
    assert weighted_mean([(1, scored(100)), (1, scored(100))], comments=(), requests=0).score == 100


def test_the_summary_is_given_what_fits_into_one_request_first_comments_first() -> None:
    long = Score(score=60, dimensions={}, comments=tuple(f"{rank} {'x' * 290}" for rank in range(5)))
    said = what_was_said([long] * 17)
    assert fits(said)
    assert (said.count("\n0 "), said.count("Part ")) == (17, 17)
    assert said.count("\n1 ") >= 1
    assert what_was_said([scored(50), scored(60)]) == "Part 1: 50 of 100.\nIt has 50.\n\nPart 2: 60 of 100.\nIt has 60."


def test_an_average_is_of_all_and_names_all() -> None:
    found = average(TEXT, scorers=[scorer("a", says(60)), scorer("b", says(71, "Deep."))], deadline=PLENTY)
    assert (found.score.score, found.model, found.fallback, found.requests) == (66, "a,b", False, 2)
    assert found.score.comments == ("Clear.", "Deep.")
    assert found.model == wanted(Policy.AVERAGE, [scorer("a"), scorer("b")])


@pytest.mark.parametrize("failure", [ModelBusy(), InputTooLong()])
def test_who_does_not_answer_is_left_out_of_an_average(failure: ModelError) -> None:
    found = average(TEXT, scorers=[scorer("a", failure), scorer("b", says(70))], deadline=PLENTY)
    assert (found.score.score, found.model, found.fallback, found.requests) == (70, "b", True, 2)


@pytest.mark.parametrize(
    ("answer", "kind", "requests"), [(ModelRefused(), ModelRefused, 2), ("nonsense", ReplyUnreadable, 3)]
)
def test_a_refusal_and_an_unreadable_reply_are_final_in_an_average_too(
    answer: Answer, kind: type[ModelError], requests: int
) -> None:
    third = saying(says(70))
    scorers = [scorer("a", says(60)), scorer("b", answer), ModelScorer("c", third)]
    with pytest.raises(kind) as failed:
        average(TEXT, scorers=scorers, deadline=PLENTY)
    assert (failed.value.requests, third.prompts) == (requests, [])


def test_where_nobody_answers_an_average_fails_as_hopefully_as_a_chain() -> None:
    with pytest.raises(ModelBusy) as failed:
        score_by(
            Policy.AVERAGE,
            TEXT,
            scorers=[scorer("a", InputTooLong()), scorer("b", ModelBusy(retry_after_s=9))],
            deadline=PLENTY,
        )
    assert (failed.value.requests, failed.value.retry_after_s) == (2, 9)


def test_scorers_that_name_other_dimensions_are_averaged_in_what_they_share() -> None:
    found = average(TEXT, scorers=[scorer("a", says(60)), BuiltinScorer()], deadline=PLENTY)
    rubric = BuiltinScorer().score(TEXT, deadline=PLENTY)
    assert found.score.dimensions["content"] == 60
    assert found.score.dimensions["cohesion"] == rubric.dimensions["cohesion"]
    assert found.score.dimensions["structure"] == (60 + rubric.dimensions["structure"] + 1) // 2


def test_progress_is_told_at_most_once_in_two_seconds_and_says_when_nobody_listens() -> None:
    told: list[dict[str, int]] = []
    clock = Clock()

    def write(progress: dict[str, int]) -> bool:
        told.append(progress)
        return progress["done"] < 3

    progress = Progress(write=write, clock=clock)
    assert progress.tell(0, 5)
    clock.advance(1.9)
    assert progress.tell(1, 5)
    clock.advance(0.1)
    assert progress.tell(2, 5)
    clock.advance(2)
    assert not progress.tell(3, 5)
    assert told == [{"done": 0, "of": 5}, {"done": 2, "of": 5}, {"done": 3, "of": 5}]


@pytest.mark.parametrize(("worker_s", "models_s"), [("60", 45.0), ("8", 6.0), ("3", 1.0), ("2", 0.0)])
def test_models_get_three_quarters_of_the_functions_time(worker_s: str, models_s: float) -> None:
    assert provider_s(settings(WORKER_TIMEOUT_SECONDS=worker_s)) == models_s


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"MODEL_TIMEOUT_SECONDS": "6.5", "WORKER_TIMEOUT_SECONDS": "8"}, "ModelTimeout"),
        ({"MODEL_TIMEOUT_SECONDS": "1", "WORKER_TIMEOUT_SECONDS": "2"}, "ModelTimeout"),
        ({"SCORER_CHAIN": "builtin,openai:x"}, "OpenAiBaseUrl"),
        ({"SCORER_CHAIN": "openai:x", "OPENAI_BASE_URL": "https://?"}, "OpenAiBaseUrl"),
        ({"SCORER_CHAIN": "openai:x", "OPENAI_BASE_URL": "https://model:99999/v1"}, "OpenAiBaseUrl"),
        ({"SCORER_CHAIN": "builtin, builtin"}, "each scorer once"),
        ({"SCORER_POLICY": "best"}, "ScorerPolicy"),
    ],
)
def test_settings_with_which_nothing_could_be_scored_are_refused(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence) as refusal:
        check(settings(**changes))
    assert refusal.value.message.endswith(".")


def test_settings_that_are_sound_are_not_refused() -> None:
    check(settings())
    check(settings(SCORER_CHAIN="bedrock:openai:x,builtin", MODEL_TIMEOUT_SECONDS="6", WORKER_TIMEOUT_SECONDS="8"))
