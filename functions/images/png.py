"""PNG: whether a file is one whole picture, and how to write one (the PNG specification, W3C)."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from images.outline import MOST_PARTS, Malformed, Outline, outlined

SIGNATURE = b"\x89PNG\r\n\x1a\n"

_SMALLEST_CHUNK = 12
_CHANNELS_AND_DEPTHS = {
    0: (1, {1, 2, 4, 8, 16}),
    2: (3, {8, 16}),
    3: (1, {1, 2, 4, 8}),
    4: (2, {8, 16}),
    6: (4, {8, 16}),
}
"""By colour type: grey, colour, palette, grey with alpha, colour with alpha."""
_INDEXED = 3
_ALL_AT_ONCE = ((0, 0, 1, 1),)
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""The passes of an interlaced picture: first column and row, and the steps from there."""

_LETTERS = {b"IHDR": "H", b"PLTE": "P", b"IDAT": "D", b"IEND": "E", b"acTL": "x", b"fcTL": "x", b"fdAT": "x"}
_ANCILLARY = re.compile(rb"[a-z][A-Za-z]{3}")
_ORDER = re.compile(r"Ha*(Pa*)?D+a*E")
"""Header, a palette perhaps, pixels in one run, end; `a` may be skipped, and nothing is animated."""

_PACKED_BESIDE = {b"iCCP", b"zTXt", b"iTXt"}
"""Parts beside the pixels that are compressed, or may be."""
_MOST_BESIDE = 4_194_304
"""What such a part may come to, unpacked: no colour profile is larger."""
_BYTES_IN = 16_384
_BYTES_OUT = 262_144


@dataclass(frozen=True, kw_only=True)
class _Chunk:
    kind: bytes
    data: memoryview
    end: int

    @property
    def letter(self) -> str:
        return _LETTERS.get(self.kind, "a" if _ANCILLARY.fullmatch(self.kind) else "x")


@dataclass(frozen=True, kw_only=True)
class _Header:
    outline: Outline
    bits: int
    """Of one pixel."""
    indexed: bool
    passes: tuple[tuple[int, int, int, int], ...]

    @property
    def bytes(self) -> int:
        """What all lines come to, unpacked; each has a byte for its filter."""
        return sum(map(self._bytes_of, self.passes))

    def _bytes_of(self, one: tuple[int, int, int, int]) -> int:
        first_x, first_y, step_x, step_y = one
        columns = (self.outline.width - first_x + step_x - 1) // step_x
        rows = (self.outline.height - first_y + step_y - 1) // step_y
        return rows * (1 + (columns * self.bits + 7) // 8) if columns > 0 and rows > 0 else 0


def read(data: bytes) -> Outline:
    """How large the picture is, and where it ends. Raises Malformed for what is not one whole, still PNG.

    The pixels are unpacked, in little memory, and no further than the header promises.
    """
    chunks = list(_chunks(data))
    order = "".join(chunk.letter for chunk in chunks)
    if _ORDER.fullmatch(order) is None:
        raise Malformed("its parts are not in order")
    header = _header(chunks[0].data)
    if header.indexed and not _has_palette(chunks):
        raise Malformed("it has no palette")
    for chunk in chunks:
        _check_beside(chunk)
    _check_pixels((chunk.data for chunk in chunks if chunk.kind == b"IDAT"), expected=header.bytes)
    return outlined(header.outline.width, header.outline.height, end=chunks[-1].end)


def write(width: int, height: int, rows: Iterable[bytes]) -> bytes:
    """A picture of rows of red, green and blue, a byte each."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = zlib.compress(b"".join(b"\0" + row for row in rows))
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", lines) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """All chunks up to IEND, each with its checksum checked."""
    view, at = memoryview(data), len(SIGNATURE)
    for _ in range(MOST_PARTS):
        length = int.from_bytes(view[at : at + 4], "big")
        end = at + _SMALLEST_CHUNK + length
        if end > len(view):
            raise Malformed("it is cut off")
        if zlib.crc32(view[at + 4 : end - 4]) != int.from_bytes(view[end - 4 : end], "big"):
            raise Malformed("it is damaged")
        chunk = _Chunk(kind=bytes(view[at + 4 : at + 8]), data=view[at + 8 : end - 4], end=end)
        yield chunk
        if chunk.kind == b"IEND":
            return
        at = end
    raise Malformed("it has too many parts")


def _header(data: memoryview) -> _Header:
    if len(data) != 13:
        raise Malformed("its header is damaged")
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", data)
    channels, depths = _CHANNELS_AND_DEPTHS.get(colour, (0, set()))
    if depth not in depths or compression != 0 or filtering != 0 or interlace not in {0, 1}:
        raise Malformed("its header is damaged")
    return _Header(
        outline=outlined(width, height),
        bits=channels * depth,
        indexed=colour == _INDEXED,
        passes=_ADAM7 if interlace else _ALL_AT_ONCE,
    )


def _has_palette(chunks: list[_Chunk]) -> bool:
    return any(chunk.kind == b"PLTE" and 3 <= len(chunk.data) <= 768 for chunk in chunks)


def _check_pixels(parts: Iterable[memoryview], *, expected: int) -> None:
    if _size(parts, most=expected, too_large="it has more pixels than it says") != expected:
        raise Malformed("it has fewer pixels than it says")


def _check_beside(chunk: _Chunk) -> None:
    """A part that says nothing of the pixels may still be a bomb for whoever opens the picture."""
    packed = _packed_beside(chunk)
    if packed is not None:
        _size([packed], most=_MOST_BESIDE, too_large="a part of it is too large, unpacked")


def _packed_beside(chunk: _Chunk) -> memoryview | None:
    """What is compressed in it, if anything is: behind its name, a zero, and how it is compressed."""
    if chunk.kind not in _PACKED_BESIDE:
        return None
    _, _, rest = bytes(chunk.data).partition(b"\0")
    if chunk.kind != b"iTXt":
        return memoryview(rest)[1:]
    if not rest.startswith(b"\1"):
        return None
    return memoryview(rest[2:].split(b"\0", 2)[-1])  # behind the language, and the name in it


def _size(parts: Iterable[memoryview], *, most: int, too_large: str) -> int:
    """What the parts, one after another, come to when they are unpacked."""
    unpacker, size = zlib.decompressobj(), 0
    try:
        for piece in _pieces(parts):
            for length in _unpacked(unpacker, piece):
                size += length
                if size > most:
                    raise Malformed(too_large)
    except zlib.error:
        raise Malformed("it is damaged") from None
    if not unpacker.eof or unpacker.unused_data:
        raise Malformed("it is damaged")
    return size


def _pieces(parts: Iterable[memoryview]) -> Iterator[memoryview]:
    """In small pieces, since each round copies what it has not come to yet."""
    for part in parts:
        for at in range(0, len(part), _BYTES_IN):
            yield part[at : at + _BYTES_IN]


def _unpacked(unpacker: zlib._Decompress, piece: memoryview) -> Iterator[int]:
    """How many bytes came out, round by round. The last of them come before the checksum is taken in."""
    rest: bytes | memoryview = piece
    while rest:
        yield len(unpacker.decompress(rest, _BYTES_OUT))
        rest = unpacker.unconsumed_tail
