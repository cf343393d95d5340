"""What providers say about waiting, in the forms they say it in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from isolane.provider_words import LONGEST_WAIT_S, retry_after_s, says_filtered, says_quota, says_too_long

NOW = datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC)

TOO_LONG = [
    "context_length_exceeded",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "ContextWindowExceededError",
    "prompt is too long: 200251 tokens > 199999 maximum",
    "Input is too long for requested model.",
    "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
    "the request exceeds the available context size, try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.",
    "Please reduce the length of the messages.",
]
WAITING_HELPS = [
    "Too many tokens, please wait before trying again.",
    "Rate limit reached for requests",
    "Too many requests",
    "The server had an error while processing your request.",
    "",
]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("999999", LONGEST_WAIT_S),
        ("Sun, 29 Nov 2026 18:00:20 GMT", 20),
        ("Sun, 29 Nov 2026 18:00:20 -0000", 20),
        ("Sun, 29 Nov 2026 19:00:20 +0100", 20),
        ("Sun, 29 Nov 2026 17:59:00 GMT", 0),
        ("Sun, 29 Nov 2099 18:00:00 GMT", LONGEST_WAIT_S),
    ],
)
def test_a_wait_is_read_in_both_of_its_forms(value: str, seconds: float) -> None:
    assert retry_after_s({"retry-after": value}, now=NOW) == seconds


@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "1e9", "NaN", "inf", "0x10", "5, 6", "Sun, 99 Nov", "9" * 400, "٣"]
)
def test_what_is_no_wait_is_none(value: str) -> None:
    assert retry_after_s({"retry-after": value}, now=NOW) is None


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [("1500", 1.5), ("0", 0), ("999999999", LONGEST_WAIT_S), ("soon", 7), ("", 7)]
)
def test_milliseconds_count_before_seconds_where_they_are_a_number(milliseconds: str, seconds: float) -> None:
    assert retry_after_s({"retry-after-ms": milliseconds, "retry-after": "7"}, now=NOW) == seconds


def test_without_the_header_there_is_no_wait() -> None:
    assert retry_after_s({"date": "Sun, 29 Nov 2026 18:00:20 GMT"}, now=NOW) is None


@pytest.mark.parametrize("sentence", TOO_LONG)
def test_a_text_that_does_not_fit_is_recognised_in_many_words(sentence: str) -> None:
    assert says_too_long(sentence)
    assert not says_quota(sentence)


@pytest.mark.parametrize("sentence", WAITING_HELPS)
def test_what_waiting_helps_against_is_nothing_else(sentence: str) -> None:
    assert [says_too_long(sentence), says_quota(sentence), says_filtered(sentence)] == [False] * 3


@pytest.mark.parametrize(
    "sentence",
    ["insufficient_quota", "billing_hard_limit_reached", "Too many tokens per day, please wait before trying again."],
)
def test_a_used_up_quota_is_recognised(sentence: str) -> None:
    assert says_quota(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "content_filter ResponsibleAIPolicyViolation",
        "Your request was rejected as a result of our safety system. content_policy_violation",
        "NSFW content detected. Try running it again, or try a different prompt.",
        "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
        "This request has been blocked by our content filters.",
        "The prompt may conflict with the AWS Responsible AI Policy.",
    ],
)
def test_a_filter_is_recognised(sentence: str) -> None:
    assert says_filtered(sentence)
