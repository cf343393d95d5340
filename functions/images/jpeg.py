"""JPEG: whether a file is one whole picture (ITU-T T.81, annex B)."""

from __future__ import annotations

import re

from images.outline import MOST_PARTS, Malformed, Outline, outlined

SIGNATURE = b"\xff\xd8\xff"

_MARKER = re.compile(rb"\xff+([^\x00\xff])")
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
"""What ends the coded pixels: any marker but those that restart them, and not an FF that is a pixel's."""

_TABLES_CODES, _TABLES_LEVELS = 0xC4, 0xDB
_FRAMES = {0xC0, 0xC1, 0xC2}
"""Baseline, extended and progressive: what is seen in browsers."""
_OTHER_FRAMES = {0xC3, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_SCAN, _END, _START = 0xDA, 0xD9, 0xD8
_ALONE = {0x01, *range(0xD0, 0xD8), _START}
"""Markers without a segment, none of which has a place between segments."""


def read(data: bytes) -> Outline:
    """How large the picture is, and where it ends. Raises Malformed for what is not one whole JPEG.

    Its pixels are not decoded: what is missing in their midst, with an end put behind it, is not noticed.
    """
    at, found, seen = 2, None, set[int]()
    for _ in range(MOST_PARTS):
        marker, at = _marker(data, at)
        if marker == _END:
            return _finished(found, seen, end=at)
        segment, at = _segment(data, at, marker=marker)
        if marker in _FRAMES:
            found = _frame(segment, first=found is None)
        elif marker == _SCAN:
            _check_scan(found, seen)
            at = _after_scan(data, at)
        seen.add(marker)
    raise Malformed("it has too many parts")


def _marker(data: bytes, at: int) -> tuple[int, int]:
    found = _MARKER.match(data, at)
    if found is None:
        raise Malformed("it is cut off or damaged")
    return found[1][0], found.end()


def _segment(data: bytes, at: int, *, marker: int) -> tuple[bytes, int]:
    if marker in _ALONE or marker in _OTHER_FRAMES:
        raise Malformed("it is of an unusual kind")
    length = int.from_bytes(data[at : at + 2], "big")
    if length < 2 or at + length > len(data):
        raise Malformed("it is cut off or damaged")
    return data[at + 2 : at + length], at + length


def _frame(segment: bytes, *, first: bool) -> Outline:
    """Precision, height, width, the number of components, and three bytes for each."""
    if not first or len(segment) < 6 or segment[0] != 8 or segment[5] not in {1, 3, 4}:
        raise Malformed("its header is damaged")
    if len(segment) != 6 + 3 * segment[5]:
        raise Malformed("its header is damaged")
    return outlined(int.from_bytes(segment[3:5], "big"), int.from_bytes(segment[1:3], "big"))


def _check_scan(found: Outline | None, seen: set[int]) -> None:
    if found is None or not {_TABLES_CODES, _TABLES_LEVELS} <= seen:
        raise Malformed("its parts are not in order")


def _after_scan(data: bytes, at: int) -> int:
    found = _AFTER_SCAN.search(data, at)
    if found is None or found.start() == at:
        raise Malformed("it is cut off")
    return found.start()


def _finished(found: Outline | None, seen: set[int], *, end: int) -> Outline:
    if found is None or _SCAN not in seen:
        raise Malformed("it has no pixels")
    return outlined(found.width, found.height, end=end)
