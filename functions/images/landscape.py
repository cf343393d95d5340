"""A landscape drawn from a text: a sky, a sun or a moon, and hills one behind the other; the same text, the same hills.

Columns are built from runs of colour and then turned into rows, plane by plane, so that Python touches each run and
not each pixel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from colorsys import hls_to_rgb
from dataclasses import dataclass
from hashlib import shake_256
from typing import TypeAlias

from images import png

WIDTH = HEIGHT = 512
_RANGES = 5

Colour: TypeAlias = tuple[int, int, int]


def draw(prompt: str) -> bytes:
    """A PNG of 512 x 512 pixels."""
    scene = _scene(prompt)
    return png.write(WIDTH, HEIGHT, _rows([_column(scene, x) for x in range(WIDTH)]))


@dataclass(frozen=True, kw_only=True)
class _Disc:
    """The sun, or the moon."""

    x: float
    y: float
    radius: float
    colour: Colour


@dataclass(frozen=True, kw_only=True)
class _Hills:
    """One range of hills: how high it is in each column, and its colours from the ridge down."""

    ridge: Callable[[int], float]
    shades: list[Colour]


@dataclass(frozen=True, kw_only=True)
class _Scene:
    sky: list[Colour]
    disc: _Disc
    hills: list[_Hills]


def _dice(prompt: str) -> Iterator[float]:
    """Numbers from 0 to 1 that only the prompt decides."""
    return (byte / 255 for byte in shake_256(prompt.encode()).digest(256))


def _scene(prompt: str) -> _Scene:
    dice = _dice(prompt)
    hue, by_night, warmth = next(dice), next(dice) < 1 / 3, next(dice)
    top = _colour(hue, lightness=0.10 if by_night else 0.52, saturation=0.55)
    horizon = _colour(hue + 0.08 + 0.3 * warmth, lightness=0.38 if by_night else 0.86, saturation=0.65)
    disc = _Disc(
        x=WIDTH * (0.15 + 0.7 * next(dice)),
        y=HEIGHT * (0.12 + 0.33 * next(dice)),
        radius=HEIGHT * (0.05 + 0.06 * next(dice)),
        colour=_colour(hue + 0.12 * warmth, lightness=0.92, saturation=0.7),
    )
    hills = [_hills(number, hue=hue + 0.1 * warmth, haze=horizon, dice=dice) for number in range(_RANGES)]
    return _Scene(sky=_blend(top, horizon, HEIGHT), disc=disc, hills=hills)


def _hills(number: int, *, hue: float, haze: Colour, dice: Iterator[float]) -> _Hills:
    """The nearer, the lower, the rougher and the darker; the farther, the more they take on the colour of the air."""
    nearness = (number + 1) / _RANGES
    waves = [(3**step * (0.6 + next(dice)), next(dice) * math.tau, 0.5**step) for step in range(4)]
    middle, height = HEIGHT * (0.42 + 0.42 * nearness), HEIGHT * (0.05 + 0.05 * next(dice))

    def ridge(x: int) -> float:
        return middle - height * sum(
            size * math.sin(rate * math.tau * x / WIDTH + shift) for rate, shift, size in waves
        )

    ground = _colour(hue + 0.25 * next(dice), lightness=0.30 - 0.18 * nearness, saturation=0.4)
    crest = _mixed(haze, ground, 0.15 + 0.85 * nearness)
    return _Hills(ridge=ridge, shades=_blend(crest, _mixed(crest, haze, 0.35), HEIGHT))


def _column(scene: _Scene, x: int) -> list[Colour]:
    column = list(scene.sky)
    _put_disc(column, scene.disc, x)
    for hills in scene.hills:
        ridge = min(max(hills.ridge(x), 0.0), HEIGHT - 1.0)
        top = int(ridge)
        column[top] = _mixed(hills.shades[0], column[top], ridge - top)
        column[top + 1 :] = hills.shades[: HEIGHT - top - 1]
    return column


def _put_disc(column: list[Colour], disc: _Disc, x: int) -> None:
    half_squared = disc.radius**2 - (x - disc.x) ** 2
    if half_squared <= 0:
        return
    half = math.sqrt(half_squared)
    for y in range(math.floor(disc.y - half), math.ceil(disc.y + half) + 1):
        covered = min(max(half + 0.5 - abs(y - disc.y), 0.0), 1.0)
        column[y] = _mixed(column[y], disc.colour, covered)


def _rows(columns: list[list[Colour]]) -> Iterator[bytes]:
    planes = [bytes(colour[channel] for column in columns for colour in column) for channel in range(3)]
    for y in range(HEIGHT):
        row = bytearray(3 * WIDTH)
        for channel, plane in enumerate(planes):
            row[channel::3] = plane[y::HEIGHT]
        yield bytes(row)


def _colour(hue: float, *, lightness: float, saturation: float) -> Colour:
    red, green, blue = hls_to_rgb(hue % 1, lightness, saturation)
    return round(255 * red), round(255 * green), round(255 * blue)


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    """So much of the other, the rest of the one."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _blend(first: Colour, last: Colour, steps: int) -> list[Colour]:
    return [_mixed(first, last, step / (steps - 1)) for step in range(steps)]
