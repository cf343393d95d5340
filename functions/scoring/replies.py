"""Reading a model's reply: exactly one object of the schema, or no score. Nothing is guessed, nothing is clamped."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, TypeGuard

from isolane.errors import InvalidJson, InvalidRequest, TooLarge
from isolane.json_edge import JsonObject, JsonValue, parse_object
from isolane.model_errors import ModelOutcome
from scoring.prompt import DIMENSIONS
from scoring.score import Score

MAX_BYTES = 65_536
MOST_COMMENTS = 5
LONGEST_COMMENT = 300
"""Characters."""

Unusable: TypeAlias = Literal[ModelOutcome.REPAIR, ModelOutcome.REFUSED]

_FIELDS = {"nonce", "score", "dimensions", "comments"}
_FENCE = "```"
_OPENING = re.compile(r"```(json)?[ \t]*\r?\n", re.IGNORECASE)
_REFUSAL = re.compile(
    r"(i['’]?m |i am )?(very |really |so )?(sorry|afraid)\b|unfortunately\b|as an ai\b|i must decline\b"
    r"|i (cannot|can not|can['’]t|won['’]t|will not|am unable|am not able)\b|i['’]m (unable|not able)\b"
    r"|很?抱歉|对不起|對不起|我(无法|無法|不能)|申し訳|すみません|죄송"
    r"|es tut mir leid\b|leider\b|ich kann\b.*\bnicht\b|(je suis )?désolée?\b|je ne (peux|suis) pas\b"
    r"|lo siento\b|no puedo\b|desculpe\b|não posso\b|mi dispiace\b|non posso\b",
    re.IGNORECASE,
)
_NO_REFUSAL = re.compile(r"[{0-9]")
"""Prose with a mark in it, or half an object, is a bad answer; only what has neither can be no answer at all."""


def read(content: str, *, nonce: str) -> Score | Unusable:
    """The score in a model's reply; REPAIR where it has not the form asked for, REFUSED where it says that it will not.

    One fence around the whole is taken off, since models cannot help it. The nonce must be that of the request.
    """
    try:
        reply = parse_object(_without_fence(content.strip()), max_bytes=MAX_BYTES)
    except (InvalidJson, InvalidRequest, TooLarge):
        return ModelOutcome.REFUSED if _is_refusal(content) else ModelOutcome.REPAIR
    score = _score(reply, nonce=nonce)
    return score if score is not None else ModelOutcome.REPAIR


def _without_fence(content: str) -> str:
    opening = _OPENING.match(content)
    if opening is None or not content.endswith(_FENCE) or opening.end() > len(content) - len(_FENCE):
        return content
    return content[opening.end() : -len(_FENCE)]


def _is_refusal(content: str) -> bool:
    return _REFUSAL.match(content.strip()) is not None and _NO_REFUSAL.search(content) is None


def _score(reply: JsonObject, *, nonce: str) -> Score | None:
    if reply.keys() != _FIELDS or reply["nonce"] != nonce:
        return None
    score, dimensions, comments = reply["score"], reply["dimensions"], reply["comments"]
    if _is_mark(score) and _are_dimensions(dimensions) and _are_comments(comments):
        return Score(score=score, dimensions=dimensions, comments=tuple(comments))
    return None


def _is_mark(value: JsonValue) -> TypeGuard[int]:
    """A whole number from 0 to 100; True is not one, and neither is 85.0."""
    return type(value) is int and 0 <= value <= 100


def _are_dimensions(value: JsonValue) -> TypeGuard[dict[str, int]]:
    return isinstance(value, dict) and value.keys() == set(DIMENSIONS) and all(map(_is_mark, value.values()))


def _are_comments(value: JsonValue) -> TypeGuard[list[str]]:
    return isinstance(value, list) and 0 < len(value) <= MOST_COMMENTS and all(map(_is_comment, value))


def _is_comment(value: JsonValue) -> bool:
    return isinstance(value, str) and len(value.strip()) > 0 and len(value) <= LONGEST_COMMENT
