"""What callers send, checked and made ready: the prompt for a picture."""

from __future__ import annotations

import functools
from typing import Any

from isolane.characters import clean
from isolane.errors import InvalidRequest, TooLarge
from isolane.shapes import Shape
from web import document

LONGEST_PROMPT = 2_000
"""Characters, after cleaning; with it a task's row is still a small one."""


def prompt_of(body: dict[str, Any]) -> str:
    """Raises InvalidRequest as the API's document says, or TooLarge `text_too_long`."""
    _request().check(body)
    prompt = clean(body["prompt"])
    if not prompt:  # what the document's pattern cannot say: planes beyond the first
        raise InvalidRequest("A prompt is needed.", code="prompt_required")
    if len(prompt) > LONGEST_PROMPT:
        raise TooLarge(f"A prompt has at most {LONGEST_PROMPT:,} characters.", code="text_too_long")
    return prompt


@functools.cache
def _request() -> Shape:
    return Shape("ImageRequest", schemas=document.schemas())
