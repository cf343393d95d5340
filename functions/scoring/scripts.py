"""Which script a text is written in, and the words or characters that it is counted by.

Everything here is told apart by fixed ranges of code points, not by Unicode's database, which grows with each
release of Python: the same text is counted the same everywhere. There is no segmenter: Latin scripts are counted
by words, Chinese, Japanese and Korean by characters, and what stands for a word there is a pair of neighbours.
"""

import re
from typing import Literal

__all__ = [
    "LATIN",
    "Script",
    "characters",
    "dominant",
    "is_cjk",
    "pairs",
    "plausible_characters",
    "plausible_words",
    "rare_pairs",
    "words",
]

Script = Literal["latin", "cjk", "other", "none"]

# Latin letters with their extensions, and the full-width ones of East Asian keyboards.
LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff\u2c60-\u2c7f\uff21-\uff3a\uff41-\uff5a"
_ACCENTS = "\u0300-\u036f"
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"
# Whole blocks, signs and all: nothing in them is measured, they only have to be recognised.
_OTHER = (
    "\u0370-\u10ff\u1200-\u1dbf\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\ua000-\ua95f\ua980-\uabff\ufb13-\ufdcf\ufdf0-\ufdff"
    "\ufe70-\ufefc\U00010000-\U0001cfff\U0001d400-\U0001d7ff\U0001e000-\U0001eeff"
)

_LETTERS = f"[{LATIN}][{LATIN}{_ACCENTS}]*+"
_WORD = re.compile(f"{_LETTERS}(?:['’-]{_LETTERS})*+")
_CJK_RUN = re.compile(f"[{_HAN}{_KANA}{_HANGUL}]+")
_OTHER_RUN = re.compile(f"[{_OTHER}]+")

# About as much is said in two characters, or in five letters of another alphabet, as in one word.
_WEIGHTS: tuple[tuple[Script, int], ...] = (("latin", 10), ("cjk", 5), ("other", 2))

_CONSONANT = "[bcdfghjklmnpqrstvwxz]"
# What hardly occurs in the words of any language in Latin script: five consonants in a row, four with a rare one among
# them, no vowel at all, one letter three times, q before a consonant, and walks along a row of the keyboard.
_STRANGE = re.compile(
    rf"{_CONSONANT}{{5}}|(?={_CONSONANT}{{4}}){_CONSONANT}{{0,3}}[jqxv]|^{_CONSONANT}{{3,}}$|([a-z])\1\1|q[b-df-hj-np-tv-z]"
    r"|asd|sdf|dfg|fgh|ghj|hjk|jkl|lkj|kjh|jhg|hgf|gfd|fds|qwe|ewq|tyui|uiop|poiu|uyt|zxc|xcv|cvb|vbn|bnm|mnb|nbv|bvc|vcx|cxz"
)
_LONGEST_WORD = 40

# The characters that any text is full of: Chinese in both spellings, the syllables of Korean particles and endings, and
# all kana.
_COMMON = frozenset(
    "的一是不了在人有我他这這个個们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于於着著下自之年过過发發后後作里裡"
    "用道行所然家种種事成方多经經么麼去法学學如都同现現当當没沒动動面起看定天分还還进進好小部其些主样樣理心她本前开開但因只从從想实實"
    "이다는을를에의가고은하지로도기한사어서자리그아나대수있것들인해"
).union(map(chr, range(0x3041, 0x3100)))


def dominant(text: str) -> tuple[Script, float]:
    """The script that most of a text is written in, and the share (0..1) of it that is in others.

    "none" is a text without a letter of any script: empty, emoji, digits, punctuation.
    """
    found = {"latin": len(_WORD.findall(text)), "cjk": _letters(_CJK_RUN, text), "other": _letters(_OTHER_RUN, text)}
    weights = [(found[script] * weight, script) for script, weight in _WEIGHTS]
    heaviest, script = max(weights, key=lambda pair: pair[0])
    if heaviest == 0:
        return "none", 0.0
    total = sum(weight for weight, _ in weights)
    return script, (total - heaviest) / total


def words(text: str) -> list[str]:
    """The words of a text in a Latin script, in lower case; hyphens and apostrophes hold a word together."""
    # Found first, lowered then: the lower case of a few capitals lies in a block of its own.
    return [word.lower() for word in _WORD.findall(text.replace("’", "'"))]


def characters(text: str) -> int:
    """How many Chinese, Japanese and Korean characters a text has."""
    return _letters(_CJK_RUN, text)


def pairs(text: str) -> list[str]:
    """Neighbouring characters, two by two and overlapping; a character that stands alone is by itself."""
    return [run[at : at + 2] for run in _CJK_RUN.findall(text) for at in range(len(run) - 1 or 1)]


def is_cjk(character: str) -> bool:
    """Whether this is a Chinese, Japanese or Korean character."""
    return _CJK_RUN.match(character) is not None


def plausible_words(found: list[str]) -> float:
    """The share (0..1) of words that are spelled as words are."""
    return sum(_is_plausible(word) for word in found) / max(1, len(found))


def plausible_characters(text: str) -> float:
    """The share (0..1) of a text's characters that are among the commonest ones."""
    return sum(character in _COMMON for character in text) / max(1, characters(text))


def rare_pairs(found: list[str]) -> frozenset[str]:
    """The pairs that are not made of the commonest characters alone."""
    return frozenset([pair for pair in found if not _COMMON.issuperset(pair)])


def _is_plausible(word: str) -> bool:
    return len(word) <= _LONGEST_WORD and _STRANGE.search(word) is None


def _letters(run: re.Pattern[str], text: str) -> int:
    return sum(map(len, run.findall(text)))
