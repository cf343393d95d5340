"""A reply is exactly one object of the schema, or no score: nothing is guessed, filled in or clamped."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.http import Reply
from isolane.model_errors import ModelError, ModelOutcome
from scoring.openai_model import content_of
from scoring.prompt import DIMENSIONS
from scoring.replies import MAX_BYTES, MOST_COMMENTS, read
from scoring.score import Score
from tests import corpus
from tests.doubles.scripted_model import verdict

NONCE = "0123456789abcdef0123456789abcdef"


def good(**other: Any) -> dict[str, Any]:
    return verdict(**{"nonce": NONCE, **other})


GOOD = json.dumps(good())

SCORED = {
    "plain": GOOD,
    "with blanks around it": f"\n  {GOOD}\n\n",
    "indented": json.dumps(good(), indent=2),
    "in a fence": f"```json\n{GOOD}\n```",
    "in a fence without a language": f"```\n{GOOD}\n```",
    "in a fence with blanks": f" ```json \r\n{GOOD}\r\n``` \n",
    "in a fence closed on the same line": f"```json\n{GOOD}```",
    "with a comment that has a fence": json.dumps(good(comments=["Use ``` less."])),
    "the least": json.dumps(good(score=0, dimensions=dict.fromkeys(DIMENSIONS, 0))),
    "the most": json.dumps(good(score=100, dimensions=dict.fromkeys(DIMENSIONS, 100))),
    "in Chinese": json.dumps(good(comments=["很好。"]), ensure_ascii=False),
}
REPAIR = {
    "nothing": "",
    "blanks": " \n",
    "prose": "This is a fine essay. I would give it 80.",
    "a number": "80",
    "a number in prose": "There are 5 reasons why this is a score of 9",
    "praise": "not excellent but acceptable",
    "null": "null",
    "a list of one": f"[{GOOD}]",
    "a text that holds the object": json.dumps(GOOD),
    "prefixed": f"Here is the verdict: {GOOD}",
    "followed by prose": f"{GOOD}\nI hope this helps!",
    "two objects": f"{GOOD}\n{GOOD}",
    "two fences": f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
    "a fence in a fence": f"```\n```json\n{GOOD}\n```\n```",
    "a fence with prose before": f"Sure!\n```json\n{GOOD}\n```",
    "a fence that is not closed": f"```json\n{GOOD}",
    "a fence alone": "```",
    "an empty fence": "```json\n```",
    "backticks alone": f"`{GOOD}`",
    "cut": GOOD[:-20],
    "cut after the score": GOOD[: GOOD.index('"dimensions"')],
    "single quotes": str(good()),
    "a trailing comma": GOOD[:-1] + ",}",
    "a comment": GOOD[:-1] + "// done\n}",
    "a duplicate score": GOOD[:-1] + ', "score": 100}',
    "no nonce": json.dumps({name: value for name, value in good().items() if name != "nonce"}),
    "another nonce": json.dumps(good(nonce="f" * 32)),
    "a nonce in capitals": json.dumps(good(nonce=NONCE.upper())),
    "the placeholder as nonce": json.dumps(verdict()),
    "a nonce that is a number": json.dumps(good(nonce=1)),
    "no score": json.dumps({name: value for name, value in good().items() if name != "score"}),
    "a rationale alone": '{"rationale": "Good."}',
    "an unknown field": json.dumps(good(confidence=0.9)),
    "a score in words": json.dumps(good(score="invalid")),
    "a score as text": json.dumps(good(score="80")),
    "a fraction": json.dumps(good(score=80.5)),
    "a whole number as a fraction": json.dumps(good(score=80.0)),
    "an exponent": GOOD.replace('"score": 80', '"score": 8e1'),
    "true": json.dumps(good(score=True)),
    "a null": json.dumps(good(score=None)),
    "NaN": GOOD.replace('"score": 80', '"score": NaN'),
    "infinite": GOOD.replace('"score": 80', '"score": 1e999'),
    "5,000 digits": GOOD.replace('"score": 80', f'"score": {"9" * 5_000}'),
    "too low": json.dumps(good(score=-1)),
    "too high": json.dumps(good(score=101)),
    "one dimension too high": json.dumps(good(dimensions={**good()["dimensions"], "language": 101})),
    "one dimension as text": json.dumps(good(dimensions={**good()["dimensions"], "language": "80"})),
    "a dimension missing": json.dumps(good(dimensions={"content": 80, "structure": 80, "language": 80})),
    "a dimension too many": json.dumps(good(dimensions={**good()["dimensions"], "humour": 80})),
    "dimensions as a list": json.dumps(good(dimensions=[80, 80, 80, 80])),
    "no comments": json.dumps(good(comments=[])),
    "comments as text": json.dumps(good(comments="Clear.")),
    "a comment that is a number": json.dumps(good(comments=["Clear.", 5])),
    "a blank comment": json.dumps(good(comments=["Clear.", " "])),
    "too many comments": json.dumps(good(comments=["Clear."] * (MOST_COMMENTS + 1))),
    "a comment too long": json.dumps(good(comments=["x" * 301])),
    "half a surrogate pair": json.dumps(good(comments=["\ud800"])),
    "too deep": "[" * 65 + "]" * 65,
    "too large": json.dumps(good(comments=["x" * MAX_BYTES])),
    "HTML": "<html><body>Bad Gateway</body></html>",
    "an apology with an answer": f"I'm sorry, here it is: {GOOD}",
    "praise that begins as a refusal": "I can't find a flaw in it: 98 of 100.",
    "prose that begins almost as a refusal": "I can tell that the writer cares.",
    "a fence of another language": f"```python\n{GOOD}\n```",
}
REFUSED = [
    "I cannot evaluate this",
    "I'm sorry, but I can't help with that.",
    "Sorry, I am not able to mark this text.",
    "I can’t assist with that request.",
    "As an AI language model, I do not grade such content.",
    "Unfortunately, this text cannot be marked.",
    "I am unable to score this.",
    "I must decline.",
    "抱歉，我无法评价这篇文章。",
    "我不能给这篇文章打分。",
    "Leider kann ich das nicht.",
    "Ich kann diesen Text nicht bewerten.",
]


@pytest.mark.parametrize("content", SCORED.values(), ids=SCORED)
def test_one_object_of_the_schema_is_a_score(content: str) -> None:
    found = read(content, nonce=NONCE)
    assert isinstance(found, Score)
    assert found.dimensions == dict.fromkeys(DIMENSIONS, found.score)


def test_a_score_is_what_the_reply_said_field_by_field() -> None:
    dimensions = {"content": 1, "structure": 2, "language": 3, "mechanics": 4}
    reply = json.dumps(good(score=77, dimensions=dimensions, comments=["One.", "Two."]))
    assert read(reply, nonce=NONCE) == Score(score=77, dimensions=dimensions, comments=("One.", "Two."))


@pytest.mark.parametrize("content", REPAIR.values(), ids=REPAIR)
def test_anything_else_is_to_be_asked_for_again(content: str) -> None:
    assert read(content, nonce=NONCE) is ModelOutcome.REPAIR


@pytest.mark.parametrize("content", REFUSED)
def test_a_refusal_is_a_refusal(content: str) -> None:
    assert read(content, nonce=NONCE) is ModelOutcome.REFUSED


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in corpus.replies(nonce=NONCE)])
def test_each_reply_of_the_corpus_has_the_outcome_that_it_names(case: corpus.Reply) -> None:
    assert outcome_of(case["reply"]) == case["outcome"]


def outcome_of(said: str | corpus.Answer) -> ModelOutcome:
    """The outcome of a model's own text, or of its provider's answer over HTTP."""
    try:
        reading = read(said if isinstance(said, str) else _content(said), nonce=NONCE)
    except ModelError as error:
        return error.outcome
    return ModelOutcome.SCORED if isinstance(reading, Score) else reading


def _content(said: corpus.Answer) -> str:
    reply = Reply(status=said["status"], headers=said["headers"], body=said["body"].encode())
    return content_of(reply, now=datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC))


@given(st.text() | st.text(alphabet='{}[]":,`0123456789 \nnonce'))
def test_no_text_without_the_nonce_is_ever_a_score(content: str) -> None:
    assert read(content, nonce=NONCE) in {ModelOutcome.REPAIR, ModelOutcome.REFUSED}
