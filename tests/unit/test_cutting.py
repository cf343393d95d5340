"""Long texts are cut where a reader would pause, into parts of one size, and never inside one of their characters."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isolane.graphemes import last_cut, may_cut
from scoring.cutting import LONGEST_PART, MOST_TOKENS, cut, fits, parts_of, tokens

# What cfn-lint brings along knows Unicode's clusters from their tables: another source than the rules here.
CLUSTER: Any = importlib.import_module("regex").compile(r"\X")

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
WHOLE = {
    "an accent": "e\u0301",
    "a tower of accents": "a\u0300\u0323\u0308",
    "a family": FAMILY,
    "a skin tone": "👍🏽",
    "a skin tone and a joiner": "👩🏽\u200d🚀",
    "a heart with its selector": "❤\ufe0f",
    "a keycap": "1\ufe0f\u20e3",
    "a flag": "🇩🇪",
    "a flag of tags": SCOTLAND,
    "jamo": "\u1112\u1161\u11ab",
    "a syllable and a final": "\uac00\u11a8",
    "old jamo": "\ua960\u1161\ud7cb",
    "a Thai vowel": "กำ",
    "a Lao vowel": "ກຳ",
    "a Devanagari conjunct": "क्षि",
    "a conjunct with a joiner": "क्\u200dष",
    "a Khmer subscript": "ក្ក",
    "Tamil": "நி",
    "a number sign before its number": "\u0600\u0661",
    "a half-width sound mark": "ﾊﾞ",
    "a line end": "\r\n",
}
odd = st.text(st.sampled_from("".join(dict.fromkeys("".join(WHOLE.values()) + "a \n。漢字🇫\u200b\ufeff\u00ad\u115f"))))
texts = st.lists(
    st.sampled_from([*WHOLE.values(), "word ", "A sentence. ", "一句话。", "\n\n", "漢字", " "]), max_size=60
)


@pytest.mark.parametrize("cluster", WHOLE.values(), ids=WHOLE)
def test_what_reads_as_one_character_stays_whole(cluster: str) -> None:
    text = f"a{cluster}b"
    assert [at for at in range(len(text) + 1) if may_cut(text, at)] == [0, 1, len(text) - 1, len(text)]


def test_flags_are_counted_in_pairs_from_where_they_begin() -> None:
    text = "x" + "🇩🇪" * 3
    assert [at for at in range(1, len(text)) if may_cut(text, at)] == [1, 3, 5]


@given(odd)
@example("क" + "\u094d" + "\u0301" * 10 + "ष")
@example("\u200d" * 5)
def test_no_place_is_allowed_that_unicodes_own_tables_refuse(text: str) -> None:
    ends = {0, *(found.end() for found in CLUSTER.finditer(text))}
    assert {at for at in range(len(text) + 1) if may_cut(text, at)} <= ends


def test_a_cluster_that_is_longer_than_a_part_is_cut_all_the_same() -> None:
    assert last_cut("👩\u200d" * 50, most=10) == 10
    endless = "👩\u200d" * 50_000
    assert "".join(cut(endless)) == endless
    assert all(map(fits, cut(endless)))


@given(texts, st.integers(1, 400))
def test_the_parts_are_the_text_fit_and_cut_no_character(pieces: list[str], times: int) -> None:
    text = ("".join(pieces) * times)[:100_000]
    parts = cut(text)
    assert "".join(parts) == text
    assert all(part and fits(part) for part in parts)
    assert {sum(map(len, parts[:number])) for number in range(1, len(parts))} <= {
        found.end() for found in CLUSTER.finditer(text)
    }


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("A sentence. And another one.\n\n" * 300, "\n\n"),
        ("A sentence. And another one!) " * 300, (". ", "!) ")),
        ("一句话，说完了。又一句。" * 600, "。"),
        ("他说：“好。”" * 1_300, "”"),
        ("word " * 2_000, "word "),
    ],
)
def test_a_part_ends_with_a_paragraph_else_a_sentence_else_a_word(text: str, ends: str | tuple[str, ...]) -> None:
    parts = cut(text)
    assert len(parts) > 1
    assert all(part.endswith(ends) for part in parts[:-1])


def test_parts_are_of_about_one_size() -> None:
    lengths = [len(part) for part in cut("A sentence of a few words. " * 223)]  # 6,021 characters
    assert len(lengths) == 2
    assert min(lengths) > 2_500


def test_sixty_thousand_characters_of_chinese_are_ten_parts_or_a_few_more() -> None:
    novel = ("天下大势，分久必合，合久必分。" * 12 + "\n") * 334
    parts = parts_of(novel[:60_000])
    assert 10 <= len(parts) <= 13
    assert all(len(part) <= LONGEST_PART and tokens(part) <= MOST_TOKENS for part in parts)


def test_tokens_are_estimated_high() -> None:
    assert (tokens("abcd"), tokens("漢字"), tokens("é"), tokens("😀"), tokens("")) == (2, 4, 1, 3, 0)
    assert tokens("漢" * LONGEST_PART) == MOST_TOKENS


def test_a_part_of_white_space_is_not_judged() -> None:
    assert parts_of("a" * 6_000 + " " * 20_000 + "b" * 6_000) == ("a" * 6_000, "b" * 6_000)


@pytest.mark.parametrize("text", [" " * 99_999 + "a", "." * 100_000, '."' * 50_000, "🇩" * 100_000, "\u0301" * 100_000])
def test_cutting_takes_no_time_whatever_the_text(text: str) -> None:
    started_s = time.process_time()
    assert "".join(cut(text)) == text
    assert time.process_time() - started_s < 3
