"""Who scores: a chain is read strictly, asks in order, counts every request, and never makes a score up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isolane.deadline import Deadline
from isolane.errors import ConfigurationError, OutgoingError, ReplyTooLarge, TimedOut, Unreachable
from isolane.model_errors import (
    InputTooLong,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRejected,
    ReplyUnreadable,
)
from isolane.settings import Settings
from scoring import rubric
from scoring.chain import Scored, ScorerSpec, build, parse_chain, score_with_chain
from scoring.prompt import Prompt
from scoring.scorers import BuiltinScorer, ModelScorer, Scorer
from tests.doubles.scripted_model import Answer, ScriptedModel, saying, verdict

TEXT = "An essay about the sea. It is deep, and it is wide."
GOOD = json.dumps(verdict(81))
PLENTY = Deadline(600.0, lambda: 0.0)
"""Ten minutes, on a clock that stands still: the tests before this one may have taken longer."""


def score(*scorers: Scorer, deadline: Deadline = PLENTY) -> Scored:
    return score_with_chain(TEXT, scorers=scorers, deadline=deadline)


def scorer(*answers: Answer, name: str = "openai:a") -> ModelScorer:
    return ModelScorer(name, saying(*answers))


@pytest.mark.parametrize(
    ("chain", "specs"),
    [
        ("builtin", [("builtin", "")]),
        ("openai:gpt-x", [("openai", "gpt-x")]),
        (" bedrock:a , openai:b,builtin ", [("bedrock", "a"), ("openai", "b"), ("builtin", "")]),
        ("bedrock:anthropic.claude-v1:0", [("bedrock", "anthropic.claude-v1:0")]),
        (
            "bedrock:arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
            [("bedrock", "arn:aws:bedrock:us-east-1:1:inference-profile/us.x")],
        ),
        ("openai:org/model:free,openai:org/model", [("openai", "org/model:free"), ("openai", "org/model")]),
    ],
)
def test_a_chain_is_read_in_order(chain: str, specs: list[tuple[str, str]]) -> None:
    assert parse_chain(chain) == tuple(ScorerSpec(kind=kind, model=model) for kind, model in specs)


@pytest.mark.parametrize(
    "chain",
    [
        "",
        " ",
        ",",
        "builtin,",
        ",builtin",
        "openai",
        "openai:",
        "bedrock: ",
        "builtin:x",
        "Builtin",
        "gemini:x",
        "openai:a b",
        "builtin,builtin",
        "openai:a,openai:a",
        "builtin;openai:a",
    ],
)
def test_any_other_chain_is_a_mistake_in_the_settings(chain: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^A chain of scorers "):
        parse_chain(chain)


def test_the_builtin_rubric_answers_under_its_own_name_without_a_request() -> None:
    scored = score(BuiltinScorer())
    assert (scored.model, scored.fallback, scored.requests) == ("builtin-rubric", False, 0)
    assert scored.as_result() == {**rubric.score(TEXT), "model": "builtin-rubric", "truncated": False}


def test_the_first_scorer_that_answers_names_the_result() -> None:
    second = saying(GOOD)
    scored = score(scorer(GOOD), ModelScorer("openai:b", second))
    assert (scored.model, scored.fallback, scored.requests, second.prompts) == ("openai:a", False, 1, [])
    assert scored.as_result() == {
        "score": 81,
        "dimensions": {"content": 81, "structure": 81, "language": 81, "mechanics": 81},
        "comments": ["Clear."],
        "model": "openai:a",
        "truncated": False,
    }


@pytest.mark.parametrize("bad", ["", "nonsense", json.dumps(verdict(101)), json.dumps(verdict(nonce="0" * 32))])
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_under_another_nonce(bad: str) -> None:
    model = saying(bad, GOOD)
    scored = score(ModelScorer("openai:a", model))
    first, second = model.prompts
    assert (scored.requests, scored.fallback) == (2, False)
    assert first.nonce != second.nonce
    assert first.nonce not in second.system + second.user
    assert second.user.splitlines()[1] == TEXT


def test_a_reply_to_the_first_request_is_none_to_the_second() -> None:
    class Late(ScriptedModel):
        def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
            first = self.prompts[0] if self.prompts else prompt
            super().ask(prompt, deadline=deadline)
            return GOOD.replace("{nonce}", first.nonce) if len(self.prompts) > 1 else "thinking…"

    with pytest.raises(ReplyUnreadable):
        score(ModelScorer("openai:a", Late()))


def test_two_unreadable_replies_are_final_and_no_score_is_made_up() -> None:
    first, second = saying("nonsense"), saying(GOOD)
    with pytest.raises(ReplyUnreadable) as failed:
        score(ModelScorer("openai:a", first), ModelScorer("openai:b", second), BuiltinScorer())
    assert (failed.value.requests, failed.value.outcome, failed.value.retryable) == (2, "repair", False)
    assert (len(first.prompts), len(second.prompts)) == (2, 0)


@pytest.mark.parametrize("answer", ["I cannot evaluate this", ModelRefused()], ids=["in words", "by the provider"])
def test_a_refusal_is_final_and_not_asked_about_again(answer: Answer) -> None:
    second = saying(GOOD)
    with pytest.raises(ModelRefused) as failed:
        score(scorer(answer), ModelScorer("openai:b", second), BuiltinScorer())
    assert (failed.value.requests, second.prompts) == (1, [])


def test_a_refusal_of_the_repair_is_a_refusal() -> None:
    with pytest.raises(ModelRefused) as failed:
        score(scorer("nonsense", "I cannot evaluate this"))
    assert failed.value.requests == 2


@pytest.mark.parametrize(
    "failure",
    [ModelBusy(), ModelRejected(), InputTooLong(), TimedOut(), Unreachable(), ReplyTooLarge()],
    ids=lambda failure: type(failure).__name__,
)
def test_where_one_fails_the_next_one_answers(failure: OutgoingError) -> None:
    first = saying(failure)
    scored = score(ModelScorer("openai:a", first), scorer("nonsense", GOOD, name="openai:b"))
    assert (scored.model, scored.fallback, scored.requests, len(first.prompts)) == ("openai:b", True, 3, 1)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [(TimedOut("timed out after 5 ms"), ModelBusy), (Unreachable(), ModelBusy), (ReplyTooLarge(), ModelRejected)],
    ids=lambda case: getattr(case, "__name__", type(case).__name__),
)
def test_a_call_that_fails_is_an_outcome_too(failure: OutgoingError, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as failed:
        score(scorer(failure))
    assert failed.value.retryable is failure.retryable
    assert failure.message in failed.value.message
    assert failed.value.requests == 1


@pytest.mark.parametrize(
    ("failures", "kind", "retry_after_s"),
    [
        ([ModelRejected(), ModelBusy(retry_after_s=9)], ModelBusy, 9),
        ([ModelBusy(retry_after_s=60), ModelBusy(retry_after_s=0), ModelBusy()], ModelBusy, 0),
        ([ModelBusy(), InputTooLong()], ModelBusy, None),
        ([ModelRejected(), ModelBusy()], ModelBusy, None),
        ([InputTooLong(), ModelRejected()], InputTooLong, None),
    ],
)
def test_where_all_fail_the_outcome_is_the_most_hopeful_one(
    failures: list[ModelError], kind: type[ModelError], retry_after_s: float | None
) -> None:
    with pytest.raises(ModelError) as failed:
        score(*(scorer(failure, name=f"openai:{at}") for at, failure in enumerate(failures)))
    assert type(failed.value) is kind
    assert (failed.value.retry_after_s, failed.value.requests) == (retry_after_s, len(failures))


def test_without_time_nobody_is_asked() -> None:
    model = saying(GOOD)
    with pytest.raises(ModelBusy) as failed:
        score(ModelScorer("openai:a", model), BuiltinScorer(), deadline=Deadline.after(0))
    assert (failed.value.requests, failed.value.retryable, model.prompts) == (0, True, [])


def test_time_that_runs_out_between_two_requests_counts_the_first() -> None:
    now_s = [0.0]

    class Slow(ScriptedModel):
        def ask(self, prompt: Prompt, *, deadline: Deadline) -> str:
            now_s[0] += 20
            return super().ask(prompt, deadline=deadline)

    with pytest.raises(ModelBusy) as failed:
        score(ModelScorer("openai:a", Slow(["nonsense"])), deadline=Deadline(10.0, lambda: now_s[0]))
    assert failed.value.requests == 1


def test_requests_for_one_text_are_bounded_whatever_the_models_say() -> None:
    models = [saying("nonsense"), saying(ModelBusy()), saying("")]
    for order in (models, models[1:] + models[:1], models[::-1]):
        before = sum(len(model.prompts) for model in models)
        with pytest.raises(ModelError) as failed:
            score(*(ModelScorer(f"openai:{at}", model) for at, model in enumerate(order)))
        assert failed.value.requests == sum(len(model.prompts) for model in models) - before <= 2 * len(order)


def settings(**other: Any) -> Settings:
    names = ("TASKS_TABLE", "STATE_TABLE", "VALUES_TABLE", "BUCKET", "SCORE_QUEUE_URL", "SCORE_DEAD_LETTER_QUEUE_URL")
    return Settings.from_env({**dict.fromkeys(names, "x"), **other})


def never(*_: Any) -> Any:
    raise AssertionError("this is not needed, and costs a call or a client")


def test_a_chain_of_builtin_makes_no_client_and_reads_no_secret() -> None:
    assert build(parse_chain("builtin"), settings=settings(), secret=never, models=never) == (BuiltinScorer(),)


def test_a_key_in_a_parameter_is_read_where_none_is_set_and_never_shown() -> None:
    endpoint = {"OPENAI_BASE_URL": "https://api.example/v1", "OPENAI_API_KEY_PARAMETER": "/isolane/key"}
    read: list[str] = []

    def secret(name: str) -> str:
        read.append(name)
        return "sk-0123456789\n"

    chain = parse_chain("openai:gpt-x,builtin")
    scorers = build(chain, settings=settings(**endpoint), secret=secret, models=never)
    assert [entry.name for entry in scorers] == ["openai:gpt-x", "builtin-rubric"]
    assert read == ["/isolane/key"]
    assert "sk-" not in repr(scorers)
    build(chain, settings=settings(**endpoint, OPENAI_API_KEY="sk-1"), secret=never, models=never)


def test_a_model_without_an_endpoint_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        build(parse_chain("openai:gpt-x"), settings=settings(), secret=never, models=never)
