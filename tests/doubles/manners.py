"""How the prediction server can be told to treat one picture: one function, one set of manners.

Manners travel as JSON in PUT /script. What they leave out is done well.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.doubles.steps import Step, status

Manners: TypeAlias = dict[str, Any]
"""
starting_s, processing_s   how long it waits, and how long it is worked on then
ends, error, output        the status at the end, and what comes with it; in `output`, {picture} is the picture's URL
id                         the prediction's id, where it is an odd one
submit, ask, cancel, picture
                           a step of steps.py in place of a good answer to that request
makes                      whether a prediction is there all the same, where `submit` says something else
lost                       whether nobody knows it once it was submitted
obeys                      whether it stops when it is canceled
heeds_keys                 whether one key is one prediction
"""

PICTURE = "{picture}"
_GOOD: Manners = {
    "starting_s": 0.5,
    "processing_s": 1.0,
    "ends": "succeeded",
    "error": None,
    "output": [PICTURE],
    "id": None,
    "submit": None,
    "ask": None,
    "cancel": None,
    "picture": None,
    "makes": False,
    "lost": False,
    "obeys": True,
    "heeds_keys": True,
}


def good(**other: Any) -> Manners:
    """A picture after a second and a half; or with anything of the list above."""
    unknown = other.keys() - _GOOD.keys()
    if unknown:
        raise ValueError(f"no such manners: {sorted(unknown)}")
    return {**_GOOD, **other}


def at_once(**other: Any) -> Manners:
    """The same, without the waiting."""
    return good(**{"starting_s": 0, "processing_s": 0, **other})


def fails(error: str = "CUDA out of memory. secret-of-the-provider", **other: Any) -> Manners:
    """The prediction fails, and says why."""
    return good(ends="failed", error=error, output=None, **other)


def lost(**other: Any) -> Manners:
    """The prediction is taken, and then nobody knows it."""
    return good(lost=True, **other)


def late(*, processing_s: float = 20.0, **other: Any) -> Manners:
    """Long after anybody waits, and after it was canceled, it succeeds all the same."""
    return good(processing_s=processing_s, obeys=False, **other)


def submits(step: Step, *, makes: bool = False, **other: Any) -> Manners:
    """Answers the submit with this step; `makes`: though the prediction was made."""
    return good(submit=step, makes=makes, **other)


def asks(step: Step, **other: Any) -> Manners:
    """Answers each question with this step."""
    return good(ask=step, **other)


def shows(step: Step, **other: Any) -> Manners:
    """Serves this step where the picture should be."""
    return at_once(picture=step, **other)


def puts_out(output: Any, **other: Any) -> Manners:
    """Succeeds with this output."""
    return at_once(output=output, **other)


def forgets_keys(**other: Any) -> Manners:
    """Makes another prediction each time, whatever the key."""
    return good(heeds_keys=False, **other)


BY_NAME: Mapping[str, Manners] = {
    "fails": fails(),
    "lost": lost(),
    "late": late(),
    "busy": submits(status(503)),
    "silent_success": submits(status(500), makes=True),
    "gone": shows(status(404)),
    "page": shows(status(200, "<html>an error, politely</html>", headers={"Content-Type": "image/png"})),
    "nothing": puts_out(None),
}
"""What chance can be told to do."""


def drawn(chances: Mapping[str, float], *, seed: int, key: str, submits: int, base: Manners) -> Manners:
    """The manners that chance gives to this submit of this key: for one seed the same, in whatever order they come.

    `chances` are probabilities by name (BY_NAME); what is left of 1 goes to `base`.
    """
    dice = random.Random(f"{seed}:{key}:{submits}").random()
    for name, chance in chances.items():
        dice -= chance
        if dice < 0:
            return {**base, **{word: value for word, value in BY_NAME[name].items() if value != _GOOD[word]}}
    return base
