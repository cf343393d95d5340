"""The corpora themselves: what they promise to those who test against them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from isolane.errors import IsolaneError
from isolane.json_edge import JsonValue, parse_object
from tests.corpus import OUTCOMES, Reply, Text, benign, injections, replies

NONCE = "5e0c1f7a9b3d4826"
REPLIES = replies(nonce=NONCE)
FENCE = re.compile(r"\A\s*```json\r?\n(?P<inside>(?:(?!```).)*)\n```\s*\Z", re.DOTALL)
DIMENSIONS = {"content", "structure", "language", "mechanics"}


def named(reply: Reply) -> str:
    return reply["name"]


def of_outcome(*outcomes: str) -> list[Reply]:
    return [reply for reply in REPLIES if reply["outcome"] in outcomes]


def is_mark(value: JsonValue) -> bool:
    return type(value) is int and 0 <= value <= 100


def are_marks(value: JsonValue) -> bool:
    return isinstance(value, dict) and set(value) == DIMENSIONS and all(map(is_mark, value.values()))


def are_comments(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= 5
        and all(isinstance(entry, str) and len(entry) <= 300 for entry in value)
    )


def is_good(text: str) -> bool:
    """The rule of the corpus, written down a second time and as plainly as possible."""
    fenced = FENCE.match(text)
    try:
        found: Mapping[str, JsonValue] = parse_object(fenced["inside"] if fenced else text)
    except IsolaneError:
        return False
    return (
        set(found) == {"nonce", "score", "dimensions", "comments"}
        and found["nonce"] == NONCE
        and is_mark(found["score"])
        and are_marks(found["dimensions"])
        and are_comments(found["comments"])
    )


@pytest.mark.parametrize("corpus", [injections, benign])
def test_a_corpus_of_texts_is_large_and_varied(corpus: Callable[[], list[Text]]) -> None:
    texts = corpus()
    assert len(texts) >= 40
    assert len({text["name"] for text in texts}) == len({text["text"] for text in texts}) == len(texts)
    assert len(Counter(text["kind"] for text in texts)) >= 7
    assert min(Counter(text["kind"] for text in texts).values()) >= 5


def test_no_text_is_in_both_corpora() -> None:
    assert {text["text"] for text in injections()}.isdisjoint(text["text"] for text in benign())


def test_every_outcome_has_its_replies() -> None:
    counts = Counter(reply["outcome"] for reply in REPLIES)
    assert set(counts) == set(OUTCOMES)
    assert min(counts.values()) >= 8
    assert len({reply["name"] for reply in REPLIES}) == len(REPLIES) >= 60


@pytest.mark.parametrize("reply", of_outcome("scored"), ids=named)
def test_a_scored_reply_is_a_good_one(reply: Reply) -> None:
    assert isinstance(reply["reply"], str)
    assert is_good(reply["reply"])


@pytest.mark.parametrize("reply", of_outcome("repair"), ids=named)
def test_a_reply_to_repair_is_not_a_good_one(reply: Reply) -> None:
    assert isinstance(reply["reply"], str)
    assert not is_good(reply["reply"])


@pytest.mark.parametrize("reply", of_outcome("too_long", "transient", "permanent"), ids=named)
def test_what_the_provider_says_is_an_answer_over_http(reply: Reply) -> None:
    answer = reply["reply"]
    assert not isinstance(answer, str)
    assert 200 <= answer["status"] < 600
    assert all(name == name.lower() for name in answer["headers"])


def test_no_placeholder_is_left_in_a_reply() -> None:
    assert all("{{nonce}}" not in str(reply) for reply in REPLIES)


def test_a_leaked_nonce_gets_into_the_text_that_knows_it() -> None:
    assert sum(NONCE in text["text"] for text in injections(nonce=NONCE)) == 1
