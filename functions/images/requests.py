"""What callers send, checked and made ready: the prompt for a picture."""

from __future__ import annotations

import functools
from typing import Any

from isolane.characters import required
from isolane.shapes import Shape
from web import document

LONGEST_PROMPT = 2_000
"""Characters, after cleaning; with it a task's row is still a small one."""


def prompt_of(body: dict[str, Any]) -> str:
    """Raises InvalidRequest as the API's document says, or TooLarge `text_too_long`."""
    _request().check(body)
    return required(body["prompt"], needed="A prompt", code="prompt_required", longest=LONGEST_PROMPT)


@functools.cache
def _request() -> Shape:
    return Shape("ImageRequest", schemas=document.schemas())
