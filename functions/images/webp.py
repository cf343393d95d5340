"""WebP: whether a file is one whole picture (RFC 9649)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from images.outline import MOST_PARTS, Malformed, Outline, outlined

SIGNATURE = b"RIFF"

_CANVAS, _LOSSY, _LOSSLESS = b"VP8X", b"VP8 ", b"VP8L"
_ANIMATED = {b"ANIM", b"ANMF"}
_HEADER = 12
_KEY_FRAME = b"\x9d\x01\x2a"


@dataclass(frozen=True, kw_only=True)
class _Chunk:
    kind: bytes
    data: memoryview


def read(data: bytes) -> Outline:
    """How large the picture is, and where it ends. Raises Malformed for what is not one whole, still WebP.

    Its pixels are not decoded.
    """
    end = 8 + int.from_bytes(data[4:8], "little")
    if data[8:_HEADER] != b"WEBP" or end > len(data):
        raise Malformed("it is cut off")
    chunks = list(_chunks(memoryview(data)[:end]))
    frames = [_frame(chunk) for chunk in chunks if chunk.kind in {_LOSSY, _LOSSLESS}]
    if len(frames) != 1 or any(chunk.kind in _ANIMATED for chunk in chunks):
        raise Malformed("it is not one picture")
    width, height = frames[0]
    if _first(chunks) not in {None, (width, height)}:
        raise Malformed("its header is damaged")
    return outlined(width, height, end=end)


def _chunks(view: memoryview) -> Iterator[_Chunk]:
    """All chunks; each begins at an even place."""
    at = _HEADER
    for _ in range(MOST_PARTS):
        if at == len(view):
            return
        length = int.from_bytes(view[at + 4 : at + 8], "little")
        end = at + 8 + length
        if end + length % 2 > len(view):
            raise Malformed("it is cut off")
        yield _Chunk(kind=bytes(view[at : at + 4]), data=view[at + 8 : end])
        at = end + length % 2
    raise Malformed("it has too many parts")


def _first(chunks: list[_Chunk]) -> tuple[int, int] | None:
    """The size of the canvas, where there is one; else the pixels come first."""
    if chunks[0].kind in {_LOSSY, _LOSSLESS}:
        return None
    data = chunks[0].data
    if chunks[0].kind != _CANVAS or len(data) != 10:
        raise Malformed("its header is damaged")
    return 1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little")


def _frame(chunk: _Chunk) -> tuple[int, int]:
    return _lossy(chunk.data) if chunk.kind == _LOSSY else _lossless(chunk.data)


def _lossy(data: memoryview) -> tuple[int, int]:
    """A key frame of VP8 (RFC 6386): its tag with the first part's length, a start code, 14 bits each way."""
    tag = int.from_bytes(data[:3], "little")
    if tag & 1 or not tag & 16 or data[3:6] != _KEY_FRAME or 10 + (tag >> 5) > len(data):
        raise Malformed("it is cut off or damaged")
    return int.from_bytes(data[6:8], "little") & 0x3FFF, int.from_bytes(data[8:10], "little") & 0x3FFF


def _lossless(data: memoryview) -> tuple[int, int]:
    """A signature, then 14 bits each way, less one, a bit for alpha and the version, which is 0."""
    bits = int.from_bytes(data[1:5], "little")
    if len(data) < 6 or data[0] != 0x2F or bits >> 29:
        raise Malformed("it is cut off or damaged")
    return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
