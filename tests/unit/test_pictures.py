"""What is a picture: whole, still, of a size that can be opened, and of three formats; everything else is none."""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from images.outline import MOST_PARTS
from images.pictures import Picture, checked
from images.provider import NoPicture
from tests.pictures import FILES, SIGNATURE, bomb, chunk, header, of_chunks, png, riff, sample

GOOD = sorted(name for name in FILES if "animated" not in name and not name.endswith("gif"))
TYPES = {"png": "image/png", "jpg": "image/jpeg", "ebp": "image/webp"}


def refusal(data: bytes) -> str:
    """Why these bytes are no picture."""
    with pytest.raises(NoPicture) as refused:
        checked(data)
    assert refused.value.code == refused.value.problem.code == "picture_invalid"
    assert not refused.value.retryable
    return refused.value.message.removeprefix("What the provider made is not a usable picture: ").removesuffix(".")


@pytest.mark.parametrize("name", GOOD)
def test_a_picture_is_known_by_its_bytes(name: str) -> None:
    picture = checked(sample(name))
    assert picture == Picture(content_type=TYPES[name[-3:]], width=40, height=30, data=sample(name))


@pytest.mark.parametrize("name", GOOD)
def test_what_is_behind_the_picture_is_cut_off(name: str) -> None:
    assert checked(sample(name) + b"PK\x03\x04<script>").data == sample(name)


@pytest.mark.parametrize("name", GOOD)
def test_a_picture_that_is_cut_anywhere_is_none(name: str) -> None:
    data = sample(name)
    for length in range(len(data)):
        refusal(data[:length])


@pytest.mark.parametrize("name", [name for name in GOOD if name.endswith("png")])
def test_a_png_with_a_wrong_bit_anywhere_is_none(name: str) -> None:
    data = bytearray(sample(name))
    for at in range(len(data)):
        data[at] ^= 4
        refusal(bytes(data))
        data[at] ^= 4


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<!doctype html><html><body>an error, politely</body></html>",
        b'{"error": "nothing here"}',
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        sample("still.gif"),
        b"BM" + bytes(100),
        b"\0\0\0\x20ftypavif" + bytes(100),
        b"%PDF-1.7",
        b"PK\x03\x04" + sample("baseline.jpg"),
        b" " + sample("baseline.jpg"),
    ],
    ids=["nothing", "html", "json", "svg", "gif", "bmp", "avif", "pdf", "a picture in an archive", "a space before it"],
)
def test_what_is_of_no_known_format_is_no_picture(data: bytes) -> None:
    assert refusal(data) == "it is no PNG, JPEG or WebP"


LINE = zlib.compress(b"\0" + bytes(3))
PNGS = {
    "no pixels": (of_chunks(header(1, 1)), "its parts are not in order"),
    "no header": (of_chunks(chunk(b"IDAT", LINE)), "its parts are not in order"),
    "two headers": (of_chunks(header(1, 1), header(1, 1), chunk(b"IDAT", LINE)), "its parts are not in order"),
    "nothing but a signature": (SIGNATURE, "it is cut off"),
    "a critical part that nobody knows": (
        of_chunks(header(1, 1), chunk(b"EVIL", b""), chunk(b"IDAT", LINE)),
        "its parts are not in order",
    ),
    "pixels in two places": (
        of_chunks(header(1, 1), chunk(b"IDAT", LINE[:5]), chunk(b"tEXt", b"x\0y"), chunk(b"IDAT", LINE[5:])),
        "its parts are not in order",
    ),
    "animated": (sample("animated.png"), "its parts are not in order"),
    "a kind that is no word": (
        of_chunks(header(1, 1), chunk(b"a\0b1", b""), chunk(b"IDAT", LINE)),
        "its parts are not in order",
    ),
    "no width": (of_chunks(header(0, 1), chunk(b"IDAT", LINE)), "it has no pixels"),
    "no height": (of_chunks(header(1, 0), chunk(b"IDAT", LINE)), "it has no pixels"),
    "more megapixels than can be opened": (
        of_chunks(header(8_000, 5_001), chunk(b"IDAT", LINE)),
        "it has more than 40 megapixels",
    ),
    "a size that overflows": (
        of_chunks(header(2**32 - 1, 2**32 - 1), chunk(b"IDAT", LINE)),
        "it has more than 40 megapixels",
    ),
    "a depth that there is not": (of_chunks(header(1, 1, depth=4), chunk(b"IDAT", LINE)), "its header is damaged"),
    "a colour type that there is not": (
        of_chunks(header(1, 1, colour=7), chunk(b"IDAT", LINE)),
        "its header is damaged",
    ),
    "an interlacing that there is not": (
        of_chunks(header(1, 1, interlace=2), chunk(b"IDAT", LINE)),
        "its header is damaged",
    ),
    "a short header": (of_chunks(chunk(b"IHDR", bytes(12)), chunk(b"IDAT", LINE)), "its header is damaged"),
    "no palette": (
        of_chunks(header(1, 1, colour=3), chunk(b"IDAT", zlib.compress(bytes(2)))),
        "it has no palette",
    ),
    "a palette too long": (
        of_chunks(header(1, 1, colour=3), chunk(b"PLTE", bytes(771)), chunk(b"IDAT", zlib.compress(bytes(2)))),
        "it has no palette",
    ),
    "a pixel too few": (
        of_chunks(header(1, 1), chunk(b"IDAT", zlib.compress(bytes(3)))),
        "it has fewer pixels than it says",
    ),
    "a byte too many": (
        of_chunks(header(1, 1), chunk(b"IDAT", zlib.compress(bytes(5)))),
        "it has more pixels than it says",
    ),
    "something behind the pixels": (
        of_chunks(header(1, 1), chunk(b"IDAT", LINE + b"more")),
        "it is damaged",
    ),
    "pixels without an end": (of_chunks(header(1, 1), chunk(b"IDAT", LINE[:-4])), "it is damaged"),
    "pixels that are not packed": (of_chunks(header(1, 1), chunk(b"IDAT", bytes(4))), "it is damaged"),
    "a bomb": (bomb(), "it has more pixels than it says"),
    "too many parts": (
        of_chunks(header(1, 1), *[chunk(b"tEXt", b"")] * MOST_PARTS, chunk(b"IDAT", LINE)),
        "it has too many parts",
    ),
}


@pytest.mark.parametrize(("data", "why"), PNGS.values(), ids=PNGS)
def test_a_png_that_is_none(data: bytes, why: str) -> None:
    assert refusal(data) == why


def test_a_bomb_is_not_unpacked_beyond_what_it_promises() -> None:
    data = bomb()
    tracemalloc.start()
    try:
        refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


BESIDE = {
    "a colour profile": (b"iCCP", b"name\0\0"),
    "a text": (b"zTXt", b"name\0\0"),
    "an international text": (b"iTXt", b"name\0\1\0en\0name\0"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_bomb_beside_the_pixels_is_found_too(name: str) -> None:
    kind, before = BESIDE[name]

    def beside(packed: bytes) -> bytes:
        return of_chunks(header(1, 1), chunk(kind, before + packed), chunk(b"IDAT", LINE))

    assert checked(beside(zlib.compress(bytes(4_194_304)))).width == 1
    assert "too large, unpacked" in refusal(beside(zlib.compress(bytes(4_194_305))))
    assert "it is damaged" in refusal(beside(zlib.compress(bytes(100))[:-1]))
    assert "it is damaged" in refusal(beside(b"not packed"))


def test_a_text_beside_the_pixels_may_be_as_it_is() -> None:
    plain = chunk(b"iTXt", b"name\0\0\0en\0name\0as it is")
    assert checked(of_chunks(header(1, 1), plain, chunk(b"IDAT", LINE))).width == 1


def test_a_large_picture_is_read_in_little_memory_and_time() -> None:
    """As large as may be: 40 megapixels of three bytes."""
    packer = zlib.compressobj(1)
    rows = b"".join(packer.compress(b"\0" + bytes(3 * 8_000)) for _ in range(5_000)) + packer.flush()
    data = of_chunks(
        header(8_000, 5_000), *(chunk(b"IDAT", rows[at : at + 8_192]) for at in range(0, len(rows), 8_192))
    )
    tracemalloc.start()
    started_s = time.process_time()
    try:
        assert (checked(data).width, checked(data).height) == (8_000, 5_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert time.process_time() - started_s < 5


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 3), (5, 1), (8, 8), (9, 7), (33, 17)])
@pytest.mark.parametrize(("depth", "colour", "bits"), [(8, 2, 24), (1, 0, 1), (16, 6, 64)])
def test_an_interlaced_picture_has_as_many_bytes_as_its_seven_passes(
    width: int, height: int, depth: int, colour: int, bits: int
) -> None:
    lines = adam7(width, height, bits=bits)
    start = header(width, height, depth=depth, colour=colour, interlace=1)
    assert checked(of_chunks(start, chunk(b"IDAT", zlib.compress(lines)))).width == width
    refusal(of_chunks(start, chunk(b"IDAT", zlib.compress(lines[:-1]))))
    refusal(of_chunks(start, chunk(b"IDAT", zlib.compress(lines + b"\0"))))


def adam7(width: int, height: int, *, bits: int) -> bytes:
    """The lines of all passes, counted pixel by pixel in the pattern of the specification."""
    pattern = ["16462646", "77777777", "56565656", "77777777", "36463646", "77777777", "56565656", "77777777"]
    lines = b""
    for number in "1234567":
        for y in range(height):
            columns = sum(pattern[y % 8][x % 8] == number for x in range(width))
            lines += bytes(1 + (columns * bits + 7) // 8) if columns else b""
    return lines


def segments(*parts: tuple[int, bytes]) -> bytes:
    """A JPEG of these segments, with a start."""
    return b"\xff\xd8" + b"".join(
        bytes([0xFF, marker]) + struct.pack(">H", 2 + len(data)) + data for marker, data in parts
    )


FRAME = (0xC0, bytes([8, 0, 30, 0, 40, 1, 1, 0x11, 0]))
CODES, LEVELS, SCAN = (0xC4, bytes(17)), (0xDB, bytes(65)), (0xDA, bytes([1, 1, 0, 0, 63, 0]))
PIXELS, END = b"\x12\xff\x00\x34\xff\xd0\x56", b"\xff\xd9"
WHOLE = segments(LEVELS, CODES, FRAME, SCAN) + PIXELS + END


def test_a_jpeg_of_the_least_parts_is_whole() -> None:
    assert (checked(WHOLE).width, checked(WHOLE).height) == (40, 30)
    assert checked(WHOLE.replace(END, b"\xff\xff" + END)).data.endswith(b"\xff\xff" + END)


JPEGS = {
    "no end": (WHOLE.removesuffix(END), "it is cut off"),
    "no pixels": (segments(LEVELS, CODES, FRAME) + END, "it has no pixels"),
    "no pixels in its scan": (segments(LEVELS, CODES, FRAME, SCAN) + END, "it is cut off"),
    "nothing but an end": (b"\xff\xd8" + END, "it has no pixels"),
    "no frame": (segments(LEVELS, CODES, SCAN) + PIXELS + END, "its parts are not in order"),
    "no codes": (segments(LEVELS, FRAME, SCAN) + PIXELS + END, "its parts are not in order"),
    "no levels": (segments(CODES, FRAME, SCAN) + PIXELS + END, "its parts are not in order"),
    "two frames": (segments(LEVELS, CODES, FRAME, FRAME, SCAN) + PIXELS + END, "its header is damaged"),
    "two pictures": (segments(LEVELS, CODES) + WHOLE, "it is of an unusual kind"),
    "lossless": (segments((0xC3, FRAME[1])) + END, "it is of an unusual kind"),
    "arithmetic": (segments((0xC9, FRAME[1])) + END, "it is of an unusual kind"),
    "a height that comes later": (segments((0xC0, bytes([8, 0, 0, 0, 40, 1, 1, 17, 0]))), "it has no pixels"),
    "twelve bits": (segments((0xC0, bytes([12, 0, 30, 0, 40, 1, 1, 17, 0]))), "its header is damaged"),
    "a short frame": (segments((0xC0, bytes([8, 0, 30, 0, 40]))), "its header is damaged"),
    "components that it does not have": (
        segments((0xC0, bytes([8, 0, 30, 0, 40, 3, 1, 17, 0]))),
        "its header is damaged",
    ),
    "two components": (segments((0xC0, bytes([8, 0, 30, 0, 40, 2, *bytes(6)]))), "its header is damaged"),
    "too large": (
        segments((0xC0, b"\x08" + struct.pack(">HH", 65_535, 65_535) + bytes([1, 1, 17, 0]))),
        "it has more than 40 megapixels",
    ),
    "a segment without a length": (b"\xff\xd8\xff\xe0\0\0" + WHOLE[2:], "it is cut off or damaged"),
    "a segment longer than the file": (b"\xff\xd8\xff\xe0\xff\xff" + WHOLE[2:], "it is cut off or damaged"),
    "something between segments": (b"\xff\xd8\xff\xe0\0\2!" + WHOLE[2:], "it is cut off or damaged"),
    "too many parts": (segments(*[(0xE0, b"")] * MOST_PARTS) + WHOLE[2:], "it has too many parts"),
    "a megabyte of filling": (b"\xff\xd8" + b"\xff" * 1_000_000, "it is cut off or damaged"),
}


@pytest.mark.parametrize(("data", "why"), JPEGS.values(), ids=JPEGS)
def test_a_jpeg_that_is_none(data: bytes, why: str) -> None:
    assert refusal(data) == why


def test_a_jpeg_of_many_scans_may_end_where_it_likes() -> None:
    """Each scan of a progressive picture adds detail; the last one counts."""
    assert sample("progressive.jpg").count(b"\xff\xda") > 3
    scan = segments(SCAN)[2:] + PIXELS
    assert checked(WHOLE.removesuffix(END) + scan + END).width == 40


def lossless(width: int, height: int, *, version: int = 0) -> bytes:
    return b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14 | version << 29) + bytes(4)


def lossy(width: int, height: int, *, tag: int = 0x10, start: bytes = b"\x9d\x01\x2a") -> bytes:
    return struct.pack("<I", tag)[:3] + start + struct.pack("<HH", width, height) + bytes(4)


def canvas(width: int, height: int) -> bytes:
    return bytes(4) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]


@pytest.mark.parametrize(
    "data",
    [
        riff((b"VP8 ", lossy(40, 30))),
        riff((b"VP8 ", lossy(40 | 1 << 14, 30 | 3 << 14))),
        riff((b"VP8L", lossless(40, 30))),
        riff((b"VP8X", canvas(40, 30)), (b"ICCP", b"odd"), (b"ALPH", b"x"), (b"VP8 ", lossy(40, 30)), (b"XMP ", b"")),
    ],
    ids=["lossy", "lossy, to be scaled", "lossless", "extended"],
)
def test_a_webp_of_the_least_parts_is_whole(data: bytes) -> None:
    assert (checked(data).width, checked(data).height) == (40, 30)


WEBPS = {
    "no parts": (riff(), "it is not one picture"),
    "no pixels": (riff((b"VP8X", canvas(40, 30))), "it is not one picture"),
    "two pictures": (riff((b"VP8L", lossless(40, 30)), (b"VP8L", lossless(40, 30))), "it is not one picture"),
    "animated": (sample("animated.webp"), "it is not one picture"),
    "animated, with a still": (
        riff((b"VP8X", canvas(4, 3)), (b"ANIM", bytes(6)), (b"VP8L", lossless(4, 3))),
        "it is not one picture",
    ),
    "another file of its kind": (b"RIFF\4\0\0\0WAVE", "it is cut off"),
    "a canvas of another size": (riff((b"VP8X", canvas(4, 3)), (b"VP8L", lossless(40, 30))), "its header is damaged"),
    "a size beyond its parts": (
        b"RIFF\x20" + riff((b"VP8L", lossless(40, 30)))[5:],
        "it is cut off",
    ),
    "a long canvas": (riff((b"VP8X", canvas(40, 30) + b"\0\0"), (b"VP8L", lossless(40, 30))), "its header is damaged"),
    "a short canvas": (riff((b"VP8X", bytes(9)), (b"VP8L", lossless(40, 30))), "its header is damaged"),
    "something before its pixels": (riff((b"ICCP", b""), (b"VP8L", lossless(40, 30))), "its header is damaged"),
    "no size": (riff((b"VP8 ", lossy(0, 30))), "it has no pixels"),
    "too large": (riff((b"VP8 ", lossy(16_383, 16_383))), "it has more than 40 megapixels"),
    "too large, lossless": (riff((b"VP8L", lossless(16_384, 16_384))), "it has more than 40 megapixels"),
    "no key frame": (riff((b"VP8 ", lossy(40, 30, tag=0x11))), "it is cut off or damaged"),
    "a frame that is not shown": (riff((b"VP8 ", lossy(40, 30, tag=0))), "it is cut off or damaged"),
    "no start code": (riff((b"VP8 ", lossy(40, 30, start=b"\0\0\0"))), "it is cut off or damaged"),
    "a first part that does not fit": (riff((b"VP8 ", lossy(40, 30, tag=0x10 | 99 << 5))), "it is cut off or damaged"),
    "a short frame": (riff((b"VP8 ", lossy(40, 30)[:9])), "it is cut off or damaged"),
    "a version that there is not": (riff((b"VP8L", lossless(40, 30, version=1))), "it is cut off or damaged"),
    "no signature": (riff((b"VP8L", b"\0" + lossless(40, 30)[1:])), "it is cut off or damaged"),
    "a short frame, lossless": (riff((b"VP8L", lossless(40, 30)[:5])), "it is cut off or damaged"),
    "a part longer than the file": (
        b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8L" + struct.pack("<I", 99) + lossless(40, 30) + b"\0",
        "it is cut off",
    ),
    "too many parts": (riff(*[(b"XMP ", b"")] * MOST_PARTS, (b"VP8L", lossless(40, 30))), "it has too many parts"),
}


@pytest.mark.parametrize(("data", "why"), WEBPS.values(), ids=WEBPS)
def test_a_webp_that_is_none(data: bytes, why: str) -> None:
    assert refusal(data) == why


def assert_that_it_is_a_picture_or_none(data: bytes) -> None:
    try:
        picture = checked(data)
    except NoPicture:
        return
    assert 1 <= picture.width * picture.height <= 40_000_000
    assert data.startswith(picture.data)
    assert checked(picture.data) == picture


STARTS = [
    b"",
    SIGNATURE,
    SIGNATURE + header(3, 3),
    b"\xff\xd8\xff",
    WHOLE[:40],
    b"RIFF",
    b"RIFF\x20\0\0\0WEBPVP8X",
    b"RIFF\x10\0\0\0WEBP",
]


@given(st.sampled_from(STARTS), st.binary(max_size=300))
def test_any_bytes_are_a_picture_or_none(start: bytes, rest: bytes) -> None:
    assert_that_it_is_a_picture_or_none(start + rest)


@given(st.sampled_from([*map(sample, GOOD), WHOLE, png(2, 2)]), st.data())
def test_any_change_to_a_picture_leaves_a_picture_or_none(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data)))
    removed = draw.draw(st.integers(0, 8))
    put = draw.draw(st.binary(max_size=8))
    assert_that_it_is_a_picture_or_none(data[:at] + put + data[at + removed :])


@given(st.lists(st.tuples(st.sampled_from([b"IHDR", b"PLTE", b"IDAT", b"tEXt", b"acTL"]), st.binary(max_size=40))))
def test_any_chunks_with_good_checksums_are_a_picture_or_none(chunks: list[tuple[bytes, bytes]]) -> None:
    assert_that_it_is_a_picture_or_none(of_chunks(*(chunk(kind, data) for kind, data in chunks)))


@given(st.integers(0, 9), st.integers(0, 9), st.binary(max_size=400))
def test_any_pixels_are_a_picture_or_none(width: int, height: int, lines: bytes) -> None:
    assert_that_it_is_a_picture_or_none(of_chunks(header(width, height), chunk(b"IDAT", zlib.compress(lines))))


SEGMENT = st.tuples(st.sampled_from([0xC0, 0xC2, 0xC4, 0xDB, 0xDA, 0xE0, 0xD8, 0xD9]), st.binary(max_size=20))


@given(st.lists(SEGMENT), st.binary(max_size=30))
def test_any_segments_are_a_picture_or_none(parts: list[tuple[int, bytes]], rest: bytes) -> None:
    assert_that_it_is_a_picture_or_none(segments(*parts) + rest + END)


PART = st.tuples(st.sampled_from([b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM"]), st.binary(max_size=20))


@given(st.lists(PART, max_size=4))
def test_any_parts_are_a_picture_or_none(parts: list[tuple[bytes, bytes]]) -> None:
    assert_that_it_is_a_picture_or_none(riff(*parts))
