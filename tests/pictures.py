"""Pictures for tests, and things that only look like some; made here, so that no test needs a file or a library."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int, *, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    """The first chunk: 8 bits of red, green and blue, unless told otherwise."""
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def png(width: int = 64, height: int = 48, *, rgb: tuple[int, int, int] = (60, 120, 180)) -> bytes:
    """A PNG in one colour."""
    lines = (b"\0" + bytes(rgb) * width) * height
    return SIGNATURE + header(width, height) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
