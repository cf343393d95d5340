"""What an answer in Replicate's form says of a prediction. Nothing in it is believed, and none of its words pass on."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from images.download import INVALID
from images.fates import CALLED_OFF, NO_OUTPUT, failed
from images.provider import Made, NoPicture, NotMade, Prediction, Waiting, Working
from isolane.deadline import Deadline
from isolane.errors import InvalidJson, InvalidRequest, TooLarge
from isolane.json_edge import JsonObject, JsonValue, parse_object
from isolane.model_errors import ModelBusy

MAX_BYTES = 1_048_576
"""Of an answer. A picture that comes inside it, as a data URL, is at most three quarters of that."""
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""An id becomes part of a path; Replicate's are 25 or 26 letters and digits."""

_DATA = re.compile(r"data:[^,]{0,100};base64,([A-Za-z0-9+/]*={0,2})")
_SENTENCE = 2_000

Fetch = Callable[[str, Deadline], bytes]
"""A URL -> what is there, as `Download.fetch`."""


def formless() -> ModelBusy:
    """For an answer in another form than its own: a page of something in between, which passes."""
    return ModelBusy("The provider did not answer in its own form.")


def id_in(body: bytes) -> str:
    """The prediction's id. Raises ModelBusy for what is no prediction."""
    return _id(_object(body))


def prediction_in(body: bytes, *, prediction_id: str, fetch: Fetch) -> Prediction:
    """How far the prediction is. Raises ModelBusy for what is no prediction, or another one."""
    answer = _object(body)
    if _id(answer) != prediction_id:
        raise formless()
    match answer.get("status"):
        case "starting":
            return Waiting()
        case "processing":
            return Working()
        case "succeeded":
            return _made(answer.get("output"), fetch=fetch)
        case "failed":
            return failed(str(answer.get("error"))[:_SENTENCE])
        case "canceled" | "aborted":  # by its owner or a deadline of the provider's: after its start, and before it
            return NotMade(problem=CALLED_OFF)
        case _:
            raise formless()


def _object(body: bytes) -> JsonObject:
    try:
        return parse_object(body, max_bytes=MAX_BYTES)
    except (InvalidJson, InvalidRequest, TooLarge):
        raise formless() from None


def _id(answer: JsonObject) -> str:
    found = answer.get("id")
    if not isinstance(found, str) or ID.fullmatch(found) is None:
        raise formless()
    return found


def _made(output: JsonValue, *, fetch: Fetch) -> Prediction:
    """A URL, or a list of them, of which the first counts; models put out other things too, which are no pictures."""
    first = output[0] if isinstance(output, list) and output else output
    if not isinstance(first, str) or not first:
        return NotMade(problem=NO_OUTPUT)
    if first.startswith("data:"):
        return Made(collect=lambda _: _inside(first))
    return Made(collect=lambda deadline: fetch(first, deadline))


def _inside(url: str) -> bytes:
    """The bytes of a data URL, whose own word on its type does not count."""
    found = _DATA.fullmatch(url)
    try:
        return base64.b64decode(found[1] if found is not None else "!", validate=True)
    except ValueError:
        raise NoPicture(INVALID) from None
