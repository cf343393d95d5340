"""Whether a text tries to dictate its own verdict: a pure decision that no model takes part in.

A text is read in several ways (`guard_readings`): as it is, and with each disguise taken off. In each reading words are
signs (`guard_words`, `guard_signs`), and a rule is some signs close together: one word alone, however suspicious, says
nothing. Everything takes time in proportion to the text. What it cannot see is an order in words that it does not know.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from scoring.guard_readings import readings
from scoring.guard_signs import Signs, signs_of
from scoring.guard_words import Sign


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Signs and forgeries that together are an attempt; of each group one is enough."""

    name: str
    groups: tuple[Group, ...]
    within: int
    """Characters, from the first of them to the last."""


def suspicion(text: str) -> str | None:
    """The rule by which the text tries to dictate its verdict; None where it does not."""
    return next((rule for reading in readings(text) if (rule := _broken(reading)) is not None), None)


# What is forged: lines and marks that belong to a prompt or a reply, and not to a text.

_FORGERIES = {
    "our delimiter": r"<<<\s{0,3}/?\s{0,3}(?:begin|end|text|start|stop)\b[^<>\n]{0,80}>>>",
    "chat": r"<\|[a-z ]{2,20}\|>|\[/?inst\]|<</?sys>>|<(?:start|end) of turn>|</?s>|<\|?(?:system|assistant|user)\|?>",
    "role": (
        r"^[^\w\n]{0,6}(?:system|assistant|user|human|developer|ai|admin|operator|系统|系统提示|系统消息)"
        r"(?: message| prompt| note| notice| instructions?)?[^\w\n]{0,4}(?::|\]|】|$|\*\*)"
    ),
    "section": (
        r"^[^\w\n]{0,6}(?:rubric|(?:new )?instructions?|text to score|(?:scoring|grading|marking) rules|评分标准)"
        r"[^\w\n]{0,3}(?:version \d{1,3})?[^\w\n]{0,6}$"
    ),
    "closing": (
        r"</\s{0,2}(?:text|essay|submission|document|user|input|content|student|answer|instruction|prompt|作文|文章)"
        r"[^<>\n]{0,60}>|\]\]>|^-{3,}\s{0,2}(?:end|begin)[^\n]{0,40}-{3}|^[\"'`]{3}\s{0,3}$|^[<>]{3,}$"
    ),
    "unseen": r"<!--|style\s{0,2}=\s{0,2}\"[^\"\n]{0,80}(?:color:\s?white|font-size:\s?[01]px|display:\s?none)",
    "dimension": r"dimensions?\b",
    "dictated dimension": r"(?:content|structure|language|mechanics)\b[\"'\s]{0,3}[:=]\s{0,3}[\"']?(?:100|9\d)\b",
    "score field": r"(?:score|verdict|grade)\b[\"']?\s{0,3}[:=]\s{0,3}[\"']?\d|<score>\s{0,3}\d",
    "verdict field": (
        r"dimensions\b[\"']?\s{0,3}[:=]|[\"']comments[\"']\s{0,3}:\s{0,3}\[\s{0,3}[\"']|nonce\b[\"']?\s{0,3}:"
        r"|<comments?>|<dimensions>"
    ),
    "own mark": (
        r"(?:score|mark|grade|rating|verdict)\s(?:of|for)\s(?:this|the|my)\s\w{1,12}\s(?:\w{1,12}\s)?(?:is|must be|=)"
        r"\s(?:100|9\d)\b"
    ),
    "plain score": r"(?:^|[.>]\s{0,3})score\s{0,2}[:=]\s{0,3}(?:100|9\d)\b",
}
_PATTERNS = {name: re.compile(pattern, re.MULTILINE) for name, pattern in _FORGERIES.items()}

Group: TypeAlias = "tuple[Sign | str, ...]"
"""Signs, and forgeries by name."""

_VERDICT: Group = (Sign.TOP, Sign.FULL, Sign.NUMBER)
_SCORE: Group = (Sign.TOP, Sign.NUMBER)
_TEXT: Group = (Sign.SELF, Sign.THE)

_RULES = (
    Rule(name="our delimiter", groups=(("our delimiter",),), within=0),
    Rule(name="ignores the rules", groups=((Sign.IGNORE,), (Sign.RULES, Sign.CRITERIA), _VERDICT), within=220),
    Rule(name="gives itself a mark", groups=((Sign.GIVE,), _TEXT, _VERDICT), within=110),
    Rule(name="gives itself nothing", groups=((Sign.GIVE,), _TEXT, (Sign.ZERO,), (Sign.EVERY,)), within=110),
    Rule(name="states its own mark", groups=(("own mark",),), within=0),
    Rule(name="tells a machine the mark", groups=((Sign.GRADER,), (Sign.GIVE,), _SCORE), within=140),
    Rule(
        name="tells a machine what it gets",
        groups=((Sign.GRADER,), (Sign.RECEIVE,), (Sign.SELF,), _SCORE),
        within=140,
    ),
    Rule(
        name="gives every text a mark",
        groups=((Sign.EVERY,), (Sign.GIVE, Sign.RECEIVE, Sign.POLICY), _SCORE),
        within=90,
    ),
    Rule(name="gives every part a mark", groups=((Sign.EVERY,), ("dimension",), _VERDICT), within=60),
    Rule(name="plays a part", groups=((Sign.PERSONA,), (Sign.GIVE, Sign.RECEIVE, Sign.MARK), _SCORE), within=220),
    Rule(name="says that it is over", groups=((Sign.END,), (Sign.GIVE, Sign.MARK), _VERDICT), within=220),
    Rule(name="dictates the reply", groups=((Sign.FORM,), (Sign.MARK,), _SCORE), within=160),
    Rule(name="forbids to look", groups=((Sign.UNREAD,), (Sign.MARK, Sign.SELF), _VERDICT), within=160),
    Rule(name="replaces the rules", groups=((Sign.POLICY,), (Sign.EVERY, Sign.EARLIER, Sign.SELF), _SCORE), within=200),
    Rule(
        name="orders a machine about",
        groups=((Sign.GRADER,), (Sign.OBEY, Sign.TASK), (Sign.RULES, Sign.HIDDEN)),
        within=140,
    ),
    Rule(name="hides an order", groups=((Sign.HIDDEN,), (Sign.OBEY, Sign.TASK)), within=90),
    Rule(
        name="speaks of the nonce",
        groups=((Sign.NONCE,), (Sign.GIVE, Sign.FORM, Sign.RULES), (Sign.MARK,)),
        within=160,
    ),
    Rule(name="forges a reply", groups=(("score field",), ("verdict field", Sign.FORM)), within=240),
    Rule(name="forges a role", groups=(("role",), (Sign.MARK, Sign.GIVE, Sign.POLICY), _VERDICT), within=220),
    Rule(name="forges a section", groups=(("section",), (Sign.MARK, Sign.GIVE, Sign.EVERY), _VERDICT), within=220),
    Rule(name="closes the text", groups=(("closing",), (Sign.GIVE, Sign.SELF, Sign.POLICY), _VERDICT), within=220),
    Rule(name="closes the text for a score", groups=(("closing",), ("score field",)), within=120),
    Rule(name="hides a remark", groups=(("unseen",), (Sign.GRADER, Sign.SELF), _VERDICT), within=220),
    Rule(
        name="shows what to say",
        groups=(("plain score",), (Sign.GIVE,), (Sign.SELF, Sign.THE, Sign.IGNORE)),
        within=220,
    ),
)
_TWICE = {"dictated dimension": 80, "chat": 400}
"""Forgeries of which two, with no more than that between, are an attempt."""


def _broken(reading: str) -> str | None:
    """The first rule that the reading breaks."""
    signs = signs_of(reading)
    places = {**_forgeries(reading), **{str(sign): found for sign, found in signs.items()}}
    for rule in _RULES:
        if _together([_places(places, group) for group in rule.groups], within=rule.within):
            return rule.name
    for name, within in _TWICE.items():
        if any(later - earlier <= within for earlier, later in pairwise(places.get(name, ()))):
            return name
    return "ignores what came before" if _overrides(reading, signs=signs) else None


def _forgeries(reading: str) -> Mapping[str, Sequence[int]]:
    return {name: [match.start() for match in pattern.finditer(reading)] for name, pattern in _PATTERNS.items()}


def _places(places: Mapping[str, Sequence[int]], group: Group) -> list[int]:
    return sorted(place for name in group for place in places.get(name, ()))


def _together(groups: Sequence[Sequence[int]], *, within: int) -> bool:
    """Whether one place of each group lies within that many characters of the others: by one pass over all."""
    if not all(groups):
        return False
    last: dict[int, int] = {}
    for place, group in sorted((place, number) for number, places in enumerate(groups) for place in places):
        last[group] = place
        if len(last) == len(groups) and place - min(last.values()) <= within:
            return True
    return False


_QUOTES = frozenset("\"'“‘«「『‹„")


def _overrides(reading: str, *, signs: Signs) -> bool:
    """An order to ignore the earlier instructions, in the text's own words: who quotes one gives none."""
    return any(
        reading[place - 1 : place] not in _QUOTES
        and _within(signs, (Sign.EARLIER,), start=place, end=place + 40)
        and _within(signs, (Sign.RULES, Sign.CRITERIA), start=place, end=place + 60)
        for place in signs.get(Sign.IGNORE, ())
    )


def _within(signs: Signs, group: Sequence[Sign], *, start: int, end: int) -> bool:
    found = (signs.get(sign, ()) for sign in group)
    return any((index := bisect_left(places, start)) < len(places) and places[index] <= end for places in found)
