"""Pictures for tests, and things that only look like some.

The files in corpus/pictures are 40 x 30 pixels and were written by Pillow 12, each another kind of its format.
"""

from __future__ import annotations

import functools
import struct
import zlib
from pathlib import Path

SIGNATURE = b"\x89PNG\r\n\x1a\n"
FILES = {path.name: path for path in sorted((Path(__file__).parent / "corpus/pictures").iterdir())}


def sample(name: str) -> bytes:
    """A file of the corpus."""
    return FILES[name].read_bytes()


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int, *, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    """The first chunk: 8 bits of red, green and blue, unless told otherwise."""
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def of_chunks(*chunks: bytes) -> bytes:
    """A PNG of these chunks, with an end."""
    return SIGNATURE + b"".join(chunks) + chunk(b"IEND", b"")


def png(width: int = 64, height: int = 48, *, rgb: tuple[int, int, int] = (60, 120, 180)) -> bytes:
    """A PNG in one colour."""
    lines = (b"\0" + bytes(rgb) * width) * height
    return of_chunks(header(width, height), chunk(b"IDAT", zlib.compress(lines)))


@functools.cache
def bomb() -> bytes:
    """A PNG of 50 KB that says it has four pixels, and unpacks to 50 MB."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(50)) + packer.flush()
    return of_chunks(header(2, 2), chunk(b"IDAT", packed))


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    """A WebP of these chunks."""
    parts = b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WEBP" + parts
