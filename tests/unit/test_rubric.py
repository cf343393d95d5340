"""The builtin rubric: what it gives to good and to poor texts, and what holds for any text at all."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scoring.rubric import NAME, measure, score
from scoring.versions import RUBRIC_VERSION

ROOT = Path(__file__).parents[2]
ESSAYS = {name: (ROOT / "events/essays" / f"{name}.txt").read_text(encoding="utf-8") for name in ("english", "chinese")}
LIMIT = 100_000

# By version: whoever changes what the rubric gives must give it a new version, or caches mix two rubrics.
GOLDEN: dict[str, dict[str, tuple[int, dict[str, int]]]] = {
    "1": {
        "english": (
            96,
            {"development": 88, "structure": 100, "vocabulary": 100, "cohesion": 100, "mechanics": 100},
        ),
        "chinese": (
            95,
            {"development": 83, "structure": 100, "vocabulary": 100, "cohesion": 100, "mechanics": 100},
        ),
    }
}

_seeded = random.Random(20)
POOR = {
    "one word": "good " * 500,
    "one word as sentences": "Good. " * 500,
    "one sentence again and again": "The cat sat on the mat, because it was warm. " * 60,
    "one character": "好" * 800,
    "one chinese sentence again and again": "今天天气很好，所以我们去公园玩。" * 60,
    "rows of the keyboard": "asdf jkl; asdf qwer uiop zxcv " * 40,
    "random keys": " ".join("".join(_seeded.choices("asdfghjklqweruiop", k=7)) for _ in range(300)),
    "random keys laid out as prose": "\n\n".join(
        "Xkqjw fghjd, asdfk wqpxz rtjkl. Sdfgh jkwqz xcvbn. Qwrtz plkjh, gfdsa mnbvc zxlkj." for _ in range(5)
    ),
    "random characters": "".join(
        chr(_seeded.randint(0x4E00, 0x9FFF)) + "，。"[at % 2] * (at % 9 == 0) for at in range(900)
    ),
    "a fragment": "The big dog",
    "a fragment with a stop": "The big dog.",
    "a chinese fragment": "今天天气",
    "without a stop": "i went to the shop and then i saw my friend and then we went to the park and then it was late "
    * 6,
    "emoji": "😀🎉" * 50,
    "punctuation": "?!...,;" * 50,
    "digits": "3.14 2.71 " * 50,
}

# Each once wanted a separate rule, or would bring a careless pattern to a crawl.
HOSTILE = {
    "one long word": "a" * LIMIT,
    "accents": "e" + "\u0301\u0323" * (LIMIT // 2),
    "stops": "." * (LIMIT - 1) + "x",
    "stops and letters": "a." * (LIMIT // 2),
    "closers": "a." + ")" * LIMIT,
    "stops and closers": ".)" * (LIMIT // 2) + "a",
    "hyphens": "a-" * (LIMIT // 2),
    "spaces": "a" + " " * LIMIT + "1",
    "lines": "a\n" * (LIMIT // 2),
    "blank lines": "a" + "\n " * (LIMIT // 2) + "b",
    "short sentences": "a.\n" * (LIMIT // 3),
    "abbreviations": "mr. " * (LIMIT // 4),
    "commas": "a," * (LIMIT // 2),
    "shouts": "a" + "!" * LIMIT,
    "brackets": "(" * LIMIT + "a",
    "characters": "".join(chr(0x4E00 + at % 20_000) for at in range(LIMIT)),
    "short chinese sentences": "好。" * (LIMIT // 2),
    "lone surrogates": "\ud800" * LIMIT,
    "consonants": "bcdq " * (LIMIT // 5),
}

ODD = {
    "empty": "",
    "blank": " \t\n\u3000",
    "lone emoji": "👩‍👩‍👧‍👦",
    "controls": "\x00\x07\x1b[2Ja\x7f\x85",
    "right to left": "שלום עולם. مرحبا بالعالم.",
    "bidi overrides": "\u202eabc\u202c \u2066def\u2069",
    "combining marks alone": "\u0301" * 40,
    "zalgo": "z\u0351\u0334a\u0327\u0355l\u0362g\u0489o\u0338",
    "lone surrogate": "a\udfffb",
    "noncharacters": "\uffff\U0010ffff",
    "tags": "a\U000e0041\U000e0042",
    "full width": "Ｆｕｌｌ　ｗｉｄｔｈ．",
    "thai": "ภาษาไทยไม่มีช่องว่าง",
    "cyrillic": "Привет, мир. Это текст.",
    "mathematical letters": "𝓗𝓮𝓵𝓵𝓸 𝔀𝓸𝓻𝓵𝓭",
}

anything = st.text(st.characters(exclude_categories=()), max_size=300)
prose = st.text("aeioubdknst ,.!?\n'’-ÉßI第一章好的，。“”あ한", max_size=400)
texts = st.one_of(anything, prose, st.sampled_from([*POOR.values(), *ODD.values(), *ESSAYS.values()]))


def sentences_of(text: str) -> list[list[str]]:
    """The paragraphs of an essay as lists of sentences, each with the space that follows it."""
    return [re.findall(r".+?[.?!。？！]+[”’]?\s*", paragraph) for paragraph in text.strip().split("\n\n")]


def shuffled_within_its_paragraphs(text: str, *, seed: int) -> str:
    paragraphs = sentences_of(text)
    sentences = [sentence.strip() for paragraph in paragraphs for sentence in paragraph]
    random.Random(seed).shuffle(sentences)
    joint = " " if text.isascii() else ""
    return "\n\n".join(joint.join(sentences.pop() for _ in paragraph) for paragraph in paragraphs)


def check_shape(result: dict[str, Any]) -> None:
    assert list(result) == ["score", "dimensions", "comments"]
    assert list(result["dimensions"]) == ["development", "structure", "vocabulary", "cohesion", "mechanics"]
    for number in (result["score"], *result["dimensions"].values()):
        assert type(number) is int
        assert 0 <= number <= 100
    assert 2 <= len(result["comments"]) <= 4
    assert all(type(comment) is str and comment.endswith(".") and len(comment) <= 300 for comment in result["comments"])


def test_it_says_that_it_is_not_a_model() -> None:
    assert NAME == "builtin-rubric"
    assert "It is not a model" in str(sys.modules["scoring.rubric"].__doc__)


@pytest.mark.parametrize("name", ESSAYS)
def test_a_change_of_the_rubric_needs_a_new_version(name: str) -> None:
    result = score(ESSAYS[name])
    assert (result["score"], result["dimensions"]) == GOLDEN[RUBRIC_VERSION][name]


@pytest.mark.parametrize("name", ESSAYS)
def test_an_essay_scores_well(name: str) -> None:
    assert score(ESSAYS[name])["score"] >= 70


@pytest.mark.parametrize("name", POOR)
def test_a_poor_text_scores_poorly(name: str) -> None:
    assert score(POOR[name])["score"] < 40


@pytest.mark.parametrize("name", ESSAYS)
def test_an_essay_that_breaks_off_is_no_better_than_the_whole(name: str) -> None:
    whole = score(ESSAYS[name])["score"]
    assert max(score(ESSAYS[name][:end])["score"] for end in range(0, len(ESSAYS[name]), 23)) <= whole


@pytest.mark.parametrize("name", ESSAYS)
def test_each_paragraph_more_makes_an_essay_no_worse(name: str) -> None:
    paragraphs = ESSAYS[name].split("\n\n")
    beginnings = ["\n\n".join(paragraphs[:count]) for count in range(1, len(paragraphs) + 1)]
    scores = [score(beginning)["score"] for beginning in beginnings]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ESSAYS)
def test_shuffled_sentences_are_no_better_than_the_essay(name: str, seed: int) -> None:
    shuffled = shuffled_within_its_paragraphs(ESSAYS[name], seed=seed)
    assert shuffled != ESSAYS[name].strip()
    assert score(shuffled)["score"] <= score(ESSAYS[name])["score"]


@pytest.mark.parametrize("name", ESSAYS)
def test_an_essay_in_one_paragraph_loses_structure_alone(name: str) -> None:
    before = score(ESSAYS[name])["dimensions"]
    after = score(ESSAYS[name].replace("\n\n", " "))["dimensions"]
    assert after["structure"] < before["structure"]
    assert {**after, "structure": 0} == {**before, "structure": 0}


def test_an_essay_without_capitals_loses_mechanics_alone() -> None:
    before = score(ESSAYS["english"])["dimensions"]
    after = score(ESSAYS["english"].lower())["dimensions"]
    assert after["mechanics"] < before["mechanics"]
    assert {**after, "mechanics": 0} == {**before, "mechanics": 0}


@pytest.mark.parametrize("name", ESSAYS)
def test_an_essay_without_punctuation_loses_half(name: str) -> None:
    bare = re.sub(r"[^\w\s]", "", ESSAYS[name])
    assert score(bare)["score"] <= score(ESSAYS[name])["score"] / 2


@pytest.mark.parametrize("name", ESSAYS)
def test_an_essay_pasted_twice_is_worth_less_in_every_dimension(name: str) -> None:
    once, twice = (score(text)["dimensions"] for text in (ESSAYS[name], f"{ESSAYS[name]}\n\n{ESSAYS[name]}"))
    assert all(twice[dimension] < once[dimension] for dimension in once)


@pytest.mark.parametrize(
    ("clean", "slipped"),
    [
        ("one, two", "one,two"),
        ("one, two", "one , two"),
        ("one two", "one  two"),
        ("one two!", "one two!!"),
        ("one (two)", "one (two"),
        ("好的，是的。", "好的,是的。"),
        ("好的，是的。", "好的，，是的。"),
        ("（好的）是的。", "（好的是的。"),
    ],
)
def test_a_slip_is_counted(clean: str, slipped: str) -> None:
    assert measure(clean).slips == 0
    assert measure(slipped).slips == 1


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It cost 3.14 in all. Dr. Smith paid.", 2),
        ("Some, e.g. cats, do. J. Smith does not.", 2),
        ("So do I. You too.", 2),
        ("“Stop!” he said. Nobody did...", 2),
        ("Is it? It is!", 2),
        ("A heading\n\nA sentence.", 2),
        ("A line that is\nwrapped by hand.", 1),
        ("看这里！她说：“好。”然后走了。", 3),
        ("真的吗?真的!我来了。", 3),
        ("圆周率是3.14，对吗？", 1),
        ("123. 456.", 0),
    ],
)
def test_sentences_are_told_apart(text: str, sentences: int) -> None:
    assert measure(text).sentences == sentences


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("One. Two.\n\nThree. Four.", 2),
        ("One. Two.\nThree. Four.", 2),
        ("One. Two\nthree. Four.", 1),
        ("Title\n\nOne. Two.", 1),
        ("　　一。二。\n　　三。四。", 2),
    ],
)
def test_paragraphs_are_told_apart(text: str, paragraphs: int) -> None:
    assert measure(text).paragraphs == paragraphs


@pytest.mark.parametrize(
    ("text", "script", "units"),
    [
        ("Well-known isn't “rock ’n’ roll”.", "latin", 5),
        ("Voilà où naïveté cafe\u0301.", "latin", 4),
        ("我在读 Moby Dick，很长。", "cjk", 5),
        ("The word 道 is hard to translate.", "latin", 6),
        ("これはペンです。", "cjk", 7),
        ("안녕하세요.", "cjk", 5),
        ("Привет, мир.", "other", 0),
        ("42!", "none", 0),
    ],
)
def test_a_text_is_counted_by_its_dominant_script(text: str, script: str, units: int) -> None:
    assert (measure(text).script, measure(text).units) == (script, units)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("😀", "no letter of any script"), ("Привет, мир.", "in a script that is not measured")],
)
def test_what_cannot_be_measured_gets_nothing_and_is_told_why(text: str, reason: str) -> None:
    result = score(text)
    assert result["score"] == 0
    assert set(result["dimensions"].values()) == {0}
    assert reason in result["comments"][0]
    assert "not a judgement" in result["comments"][1]


def test_comments_name_measured_facts() -> None:
    comments = score("Cats sleep because they can. Cats eat, too.\n\nDogs bark.")["comments"]
    assert comments == [
        "There are 10 words in 3 sentences, 3 to a sentence on average, and 1 paragraph of two sentences or more.",
        (
            "Strongest is mechanics, 89 of 100: "
            "3 of 3 sentences end with a stop, 3 begin with a capital, with 0 slips of punctuation."
        ),
        "Weakest is development, 7 of 100: 4 different runs of three words inside whole sentences.",
    ]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("Cats sleep. Cats sleep.", "1 sentence repeats an earlier one word for word, which lowers all marks."),
        ("Xkcdq sleeps.", "Only 50 % of the words are spelled as words are, which lowers all marks."),
        ("Cats sleep. 猫。", "About 20 % of the text is in other scripts and was not measured."),
    ],
)
def test_what_lowers_all_marks_is_said(text: str, remark: str) -> None:
    assert score(text)["comments"][-1] == remark


def cpu_seconds(text: str) -> float:
    started_s = time.process_time()
    check_shape(score(text))
    return time.process_time() - started_s


@pytest.mark.parametrize("name", ESSAYS)
def test_the_longest_prose_takes_less_than_a_second(name: str) -> None:
    assert cpu_seconds((ESSAYS[name] * 100)[:LIMIT]) < 1


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_time_out_of_proportion(name: str) -> None:
    # Half a second on an idle machine; work that grows with the square of the length takes minutes.
    assert cpu_seconds(HOSTILE[name]) < 3


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_gives_the_same(seed: str) -> None:
    code = (
        "import json, sys; from scoring.rubric import score; print(json.dumps(score(sys.stdin.buffer.read().decode())))"
    )
    for essay in ESSAYS.values():
        answer = subprocess.run(
            [sys.executable, "-c", code],
            input=essay.encode(),
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "functions")},
            capture_output=True,
            check=True,
        )
        assert json.loads(answer.stdout) == score(essay)


@given(texts)
@settings(deadline=None)
@example("\ud800")
@example("a" * 41)
@example("好")
def test_any_text_gets_a_score_in_bounds(text: str) -> None:
    check_shape(score(text))


def test_a_capital_of_any_script_alone_gets_a_score() -> None:
    for capital in (chr(code) for code in range(sys.maxunicode + 1) if chr(code) != chr(code).lower()):
        check_shape(score(capital))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_gets_a_low_score(name: str) -> None:
    check_shape(score(ODD[name]))
    assert score(ODD[name])["score"] < 40


@given(texts)
@settings(deadline=None)
def test_the_same_text_gets_the_same(text: str) -> None:
    assert score(text) == score(text)


@given(texts, st.sampled_from(["\n\n", "\n", " "]))
@settings(deadline=None)
@example("a " * 25 + "b " * 26, " ")
@example(" ".join(f"w{chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(51)) + " aa" * 60, " ")
def test_saying_it_twice_does_not_raise_the_vocabulary(text: str, joint: str) -> None:
    assert score(text + joint + text)["dimensions"]["vocabulary"] <= score(text)["dimensions"]["vocabulary"]


@given(texts)
@settings(deadline=None)
def test_saying_it_twice_makes_it_no_more_various(text: str) -> None:
    once, twice = measure(text), measure(f"{text}\n\n{text}")
    assert twice.variety <= once.variety
    assert twice.distinct == once.distinct


@given(st.text("øæåé漢字好的 .。\n", max_size=300))
@settings(deadline=None)
def test_comments_hold_nothing_of_the_text(text: str) -> None:
    assert all(comment.isascii() for comment in score(text)["comments"])


@given(texts)
@settings(deadline=None)
def test_counts_agree_with_one_another(text: str) -> None:
    found = measure(text)
    parts = (found.connected, found.linked, found.repeated, found.stopped, found.capitals, found.paragraphs)
    assert all(0 <= part <= found.sentences for part in parts)
    assert found.sentences <= found.units
    assert 0 <= found.variety <= 1
    assert 0 <= found.spelled <= 1
    assert 0 <= found.others < 1
