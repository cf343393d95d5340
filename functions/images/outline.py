"""What can be told of a picture without decoding it; shared by the readers of its formats."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PIXELS = 40_000_000
"""A few bytes can promise any number; whoever opens the picture has to find memory for them all."""
MOST_PARTS = 20_000
"""Segments or chunks of one file: more than any encoder writes, and few enough to walk through."""


class Malformed(Exception):
    """The bytes are no whole picture of their format."""


@dataclass(frozen=True, kw_only=True)
class Outline:
    """How large a picture is, and where it ends."""

    width: int
    height: int
    end: int
    """Bytes; what comes after them is not part of the picture."""


def outlined(width: int, height: int, *, end: int = 0) -> Outline:
    """An outline, once its numbers make sense. Raises Malformed."""
    if width < 1 or height < 1:
        raise Malformed("it has no pixels")
    if width * height > MOST_PIXELS:
        raise Malformed(f"it has more than {MOST_PIXELS // 1_000_000} megapixels")
    return Outline(width=width, height=height, end=end)
