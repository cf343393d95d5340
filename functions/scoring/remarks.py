"""What the builtin rubric says about a text: sentences of measured facts, with nothing of the text in them."""

import math
from collections.abc import Callable, Mapping

from scoring.measures import WINDOWS, Measures

__all__ = ["remarks", "why_nothing"]

_SMALL_SHARE = 0.05


def remarks(measures: Measures, dimensions: Mapping[str, int], *, spelled_enough: float) -> list[str]:
    """Three or four sentences: how much there is, the strongest dimension, the weakest, and what lowers them all."""
    strongest = max(dimensions, key=lambda name: dimensions[name])
    weakest = min(reversed(list(dimensions)), key=lambda name: dimensions[name])
    return [
        _extent(measures),
        f"Strongest is {strongest}, {dimensions[strongest]} of 100: {_FACTS[strongest](measures)}.",
        f"Weakest is {weakest}, {dimensions[weakest]} of 100: {_FACTS[weakest](measures)}.",
        *_reservations(measures, spelled_enough=spelled_enough)[:1],
    ]


def why_nothing(measures: Measures) -> list[str]:
    """Two sentences for a text of which nothing can be measured."""
    reason = {
        "none": "The text has no letter of any script, so there is nothing to measure.",
        "other": "Most of the text is in a script that is not measured; Latin, Chinese, Japanese and Korean are.",
    }[measures.script]
    return [reason, "The 0 says that nothing was measured; it is not a judgement of the text."]


def _extent(measures: Measures) -> str:
    average = f"{_whole(measures.mean_length)} to a sentence on average"
    paragraphs = _count(measures.paragraphs, "paragraph")
    return (
        f"There are {_count(measures.units, _unit(measures))} in {_count(measures.sentences, 'sentence')}, {average}, "
        f"and {paragraphs} of two sentences or more."
    )


def _development(measures: Measures) -> str:
    return f"{measures.fresh} different runs of three {_unit(measures)}s inside whole sentences"


def _structure(measures: Measures) -> str:
    return f"the lengths of sentences vary by {_whole(measures.spread * 100)} % of their average"


def _vocabulary(measures: Measures) -> str:
    share = f"{_whole(measures.variety * 100)} % are different on average"
    return (
        f"in a stretch of up to {WINDOWS[measures.script]} {_token(measures)} {share}, and {measures.distinct} in all"
    )


def _cohesion(measures: Measures) -> str:
    connected = f"{measures.connected} of {_count(measures.sentences, 'sentence')} with a connective"
    if measures.sentences == 1:
        return connected
    shared = "word" if measures.script == "latin" else "pair of characters"
    return f"{connected}, and {measures.linked} of {measures.sentences - 1} with a {shared} of the one before"


def _mechanics(measures: Measures) -> str:
    capitals = f", {measures.capitals} begin with a capital" if measures.script == "latin" else ""
    stopped = f"{measures.stopped} of {_count(measures.sentences, 'sentence')} end with a stop"
    return f"{stopped}{capitals}, with {_count(measures.slips, 'slip')} of punctuation"


_FACTS: dict[str, Callable[[Measures], str]] = {
    "development": _development,
    "structure": _structure,
    "vocabulary": _vocabulary,
    "cohesion": _cohesion,
    "mechanics": _mechanics,
}


def _reservations(measures: Measures, *, spelled_enough: float) -> list[str]:
    found = []
    if measures.spelled < spelled_enough:
        found.append(f"Only {_whole(measures.spelled * 100)} % of the {_ordinary(measures)}, which lowers all marks.")
    if measures.repeated > 0:
        repeats = "repeats" if measures.repeated == 1 else "repeat"
        sentences = _count(measures.repeated, "sentence")
        found.append(f"{sentences} {repeats} an earlier one word for word, which lowers all marks.")
    if measures.others > _SMALL_SHARE:
        found.append(f"About {_whole(measures.others * 100)} % of the text is in other scripts and was not measured.")
    return found


def _ordinary(measures: Measures) -> str:
    return "words are spelled as words are" if measures.script == "latin" else "characters are among the commonest ones"


def _unit(measures: Measures) -> str:
    return "word" if measures.script == "latin" else "character"


def _token(measures: Measures) -> str:
    return "words" if measures.script == "latin" else "pairs of characters"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _whole(value: float) -> int:
    return math.floor(value + 0.5)
