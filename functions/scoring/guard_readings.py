"""The ways in which a text can be read: as it stands, and with each disguise taken off."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator

_ACCENTS = re.compile(r"[\u0300-\u036f]")
_LONGEST_FORM = 3
"""Letters for which one may stand in compatibility forms; a sign for whole words stays what it is."""
_OTHER_LETTERS = {"đ": "d", "ł": "l", "ø": "o", "ı": "i", "æ": "ae", "_": " "}
"""Letters that have no accent in Unicode's eyes, and what is no letter at all."""

_LATIN = re.compile(r"[a-z]")
_LOOKALIKES = {
    "a": "аα", "b": "вβЬь", "c": "сς", "d": "ԁ", "e": "еєε", "f": "ғ", "g": "ԍɡց", "h": "һнհ", "i": "іїιɩ", "j": "јʝ",
    "k": "кκ", "l": "ӏ", "m": "мϻ", "n": "пηոռ", "o": "оοσօ", "p": "рρ", "q": "ԛզ", "r": "гɾ", "s": "ѕꜱ", "t": "тτ",
    "u": "υսц", "v": "νѵ", "w": "ѡωա", "x": "хχ", "y": "уγүყ", "z": "ᴢ",
}  # fmt: skip
_LATIN_FOR = str.maketrans({other: latin for latin, others in _LOOKALIKES.items() for other in others})
_FOREIGN = re.compile(f"[{''.join(_LOOKALIKES.values())}]")

_DISGUISED = re.compile(r"(?:[a-z]{1,16}[0134578@$]|[0134578@$]{1,3}[a-z])[\w@$]{0,24}")
_LETTER_FOR = str.maketrans("0134578@$", "oieastbas")

_APART = re.compile(r"(?<![^\W_])[^\W_](?:[ .*·-]{1,3}[^\W_]){7,}(?![^\W_])")
_GAP = re.compile(r"[ .*·-]{1,3}")
_RUN_TOGETHER = re.compile(
    "(ignore|disregard|forget|previous|prior|above|instructions|rubric|criteria|give|award|return|this|essay|text|full"
    "|marks|score|points|the|and|all|100)"
)

_TAGS = re.compile("[\U000e0020-\U000e007e]")
_TAGS_FROM = 0xE0000
_FLAGS = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{0,8}")
"""The flag of England, say, which is spelled in the same characters."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{24,}")

_TELLTALES = ("score", "ignore", "instruction", "full marks", "points", "rubric")


def folded(text: str) -> str:
    """The text with what only looks different made equal: entities, forms, case, accents, characters nobody sees."""
    plain = html.unescape(text) if "&" in text else text
    forms = {ord(character): _form(character) for character in set(plain)}
    return unicodedata.normalize("NFC", plain.translate(forms))


def readings(text: str) -> Iterator[str]:
    """The ways to read it, the likeliest first; one that would change nothing is left out."""
    seen = folded(text)
    yield seen
    if (plain := _undisguised(seen)) != seen:
        yield plain
    yield from _hidden(text)
    yield from filter(_is_telling, (seen[::-1], codecs.encode(seen, "rot13")))


def _form(character: str) -> str:
    """A character without its accents, in the form in which it is compared."""
    if character.isascii():
        return _OTHER_LETTERS.get(character, character.lower())
    if unicodedata.category(character) == "Cf":
        return ""
    parts = unicodedata.normalize("NFKD", character)
    plain = _ACCENTS.sub("", parts) if len(parts) <= _LONGEST_FORM else character
    return "".join(_OTHER_LETTERS.get(part, part) for part in plain.casefold())


def _undisguised(seen: str) -> str:
    """With look-alike letters, digits for letters and letters set apart put right."""
    if _LATIN.search(seen) and _FOREIGN.search(seen):
        seen = seen.translate(_LATIN_FOR)
    return _APART.sub(_joined, _DISGUISED.sub(lambda word: word[0].translate(_LETTER_FOR), seen))


def _joined(run: re.Match[str]) -> str:
    """`g.i.v.e i.t` as `give it`: a gap unlike the first parts two words; where all are alike, known words do."""
    usual, *_ = _GAP.findall(run[0])
    words = _GAP.sub(lambda gap: "" if gap[0] == usual else " ", run[0])
    return words if " " in words else _RUN_TOGETHER.sub(r" \1 ", words)


def _hidden(text: str) -> Iterator[str]:
    """What is written in characters that nobody sees, in base64 or in hex."""
    unseen = "".join(chr(ord(character) - _TAGS_FROM) for character in _TAGS.findall(_FLAGS.sub("", text)))
    found = (unseen, *map(_from_base64, _BASE64.findall(text)), *map(_from_hex, _HEX.findall(text)))
    if hidden := " ".join(filter(None, found)):
        yield folded(hidden)


def _from_base64(word: str) -> str:
    try:
        return base64.urlsafe_b64decode(word.replace("+", "-").replace("/", "_") + "=" * (-len(word) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _from_hex(word: str) -> str:
    try:
        return bytes.fromhex(word[: len(word) // 2 * 2]).decode()
    except ValueError:
        return ""


def _is_telling(text: str) -> bool:
    """A reading that hardly ever makes sense is only looked at where a word of it does."""
    return any(word in text for word in _TELLTALES)
