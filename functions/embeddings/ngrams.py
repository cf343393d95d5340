"""The embedder that needs nothing: hashed n-grams of characters, in 256 dimensions. It is not a model.

It calls itself `builtin-ngrams`, and knows letters, not meanings: texts are near each other where they share words and
parts of words, inflected ones too. "Car" and "automobile" are as far apart as any two words.

How: the text in NFKC and lower case; of each word, with a space on either side, all runs of 3 to 5 characters, and the
word itself; each counts by 1 + log(how often), words that every text has (short ones) for little; a hash says in which
dimension, and with which sign, so that what collides by chance cancels out on average (feature hashing).
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator

NAME = "builtin-ngrams"
DIMENSIONS = 256

_LENGTHS = (3, 4, 5)
_WORD = re.compile(r"\w+|[^\w\s]+")
_SHORT = 3
"""Words of so few letters are mostly grammar, in the languages that have spaces."""
_SHORT_WEIGHT = 0.2
_WORD_WEIGHT = 2.0
_LONGEST_WORD = 64
"""A longer run of letters is cut up; scripts without spaces are one run."""


def embed(text: str) -> list[float]:
    """The text's vector, not yet of length 1; all zero only where there is nothing to be seen in the text."""
    vector = [0.0] * DIMENSIONS
    for feature, weight in _features(text):
        place, sign = _hashed(feature)
        vector[place] += sign * weight
    return vector


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = Counter(_words(text))
    grams: Counter[str] = Counter()
    for word, times in words.items():
        weight = _SHORT_WEIGHT if len(word) <= _SHORT and word.isascii() else 1.0
        yield f"={word}", weight * _WORD_WEIGHT * (1 + math.log(times))
        if weight == 1.0:
            for gram in set(_grams(f" {word} ")):
                grams[gram] += times
    for gram, times in grams.items():
        yield gram, 1 + math.log(times)


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        for start in range(0, len(word), _LONGEST_WORD):
            yield word[start : start + _LONGEST_WORD]


def _grams(padded: str) -> Iterator[str]:
    for length in _LENGTHS:
        for start in range(len(padded) - length + 1):
            yield padded[start : start + length]


def _hashed(feature: str) -> tuple[int, float]:
    """A dimension and a sign: the same in every process, which Python's own hash is not."""
    mixed = zlib.crc32(feature.encode()) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF  # the high bits depend on all others
    return mixed >> 56, 1.0 if mixed >> 55 & 1 else -1.0
