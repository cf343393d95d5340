"""Pictures that somebody sent: nothing about them is believed but what their bytes show."""

from __future__ import annotations

from dataclasses import dataclass, field

from images import jpeg, png, webp
from images.outline import Malformed
from images.provider import NoPicture
from isolane.task import Problem

_FORMATS = (
    (png.SIGNATURE, "image/png", png.read),
    (jpeg.SIGNATURE, "image/jpeg", jpeg.read),
    (webp.SIGNATURE, "image/webp", webp.read),
)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A whole picture of a kind that every browser shows."""

    content_type: str
    """By its bytes, whatever its server said."""
    width: int
    height: int
    data: bytes = field(repr=False)
    """Up to where the picture ends: what was hidden behind it is gone."""


def checked(data: bytes) -> Picture:
    """The picture that these bytes are. Raises NoPicture where they are none, or not whole, or too large."""
    for signature, content_type, read in _FORMATS:
        if data.startswith(signature):
            try:
                outline = read(data)
            except Malformed as error:
                raise _invalid(str(error)) from None
            width, height = outline.width, outline.height
            return Picture(content_type=content_type, width=width, height=height, data=data[: outline.end])
    raise _invalid("it is no PNG, JPEG or WebP")


def _invalid(why: str) -> NoPicture:
    return NoPicture(Problem(code="picture_invalid", message=f"What the provider made is not a usable picture: {why}."))
