"""Words that a scorer meets: texts that attack it, texts that only look as if they did, and what models answer.

- `injections.json`: texts that try to move their own score, as `{"name", "kind", "text"}`. They dictate a verdict
  ("verdict") or the reply itself ("reply"), forge a section of the prompt ("section"), close the delimiter around the
  text ("delimiter"), give the model another part to play ("role"), hide the demand in an encoding ("encoded"), in what
  no reader sees ("invisible") or in a long essay ("hidden"). Each has to be caught.
- `benign.json`: texts of the same shape about prompts, exams, marks, grading, teaching, JSON and security, with kinds
  that name their subject. None may be caught, whatever words it uses.
- `replies.json`: what comes back, as `{"name", "reply", "outcome"}`. A reply is the model's own text, or, where it is
  an object `{"status", "headers", "body"}`, the provider's HTTP answer with the header names in lower case.

A good reply is one JSON object, alone or in exactly one ```json fence, and nothing before or after it:
`{"nonce": "…", "score": n, "dimensions": {"content": n, "structure": n, "language": n, "mechanics": n},
"comments": […]}`, where n is an integer from 0 to 100 and the comments are 1 to 5 strings of at most 300 characters.
There are no other keys, none twice, and the nonce is that of the call. In the files it is written `{{nonce}}`:
`replies` puts the real one there, and so does `injections`, for the text that has somehow learned it.

| outcome   | what it is                                                            | what follows                  |
|-----------|-----------------------------------------------------------------------|-------------------------------|
| scored    | a good reply                                                          | the result                    |
| repair    | the model's text, but not a good reply, and not a refusal             | one more try, then review     |
| refused   | the model declines, in words or by the provider's own field or reason | terminal                      |
| too_long  | the provider says that the text exceeds what the model takes          | terminal, or a larger model   |
| transient | overload, a rate limit, a fault of the server, an unreadable answer   | again later, as it asks       |
| permanent | the same request can never succeed: key, quota, model, parameters     | the next scorer of the chain  |
"""

import json
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

__all__ = ["OUTCOMES", "Answer", "Outcome", "Reply", "Text", "benign", "injections", "replies"]

Outcome = Literal["scored", "repair", "refused", "too_long", "transient", "permanent"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Text(TypedDict):
    """A text to be scored."""

    name: str
    kind: str
    text: str


class Answer(TypedDict):
    """What a provider answers over HTTP; the body as it is on the wire."""

    status: int
    headers: dict[str, str]
    body: str


class Reply(TypedDict):
    """What comes back from a model or its provider, and what it has to be taken for."""

    name: str
    reply: str | Answer
    outcome: Outcome


def injections(*, nonce: str = "{{nonce}}") -> list[Text]:
    """The texts that have to be caught, with the nonce of the call where one of them knows it."""
    texts: list[Text] = _read("injections.json", nonce=nonce)
    return texts


def benign() -> list[Text]:
    """The texts that must not be caught."""
    texts: list[Text] = _read("benign.json", nonce="{{nonce}}")
    return texts


def replies(*, nonce: str) -> list[Reply]:
    """The replies to a call with this nonce, which must be letters, digits and hyphens."""
    found: list[Reply] = _read("replies.json", nonce=nonce)
    return found


def _read(name: str, *, nonce: str) -> Any:
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8").replace("{{nonce}}", nonce))
