"""The builtin embedder: it knows letters, and with them finds what is said in other words of the same kind."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from embeddings import ngrams
from embeddings.embedders import BuiltinEmbedder
from isolane.deadline import Deadline
from isolane.similarity import Vector, similarity, unit
from tests.environment.places import ROOT

CORPUS = json.loads((ROOT / "tests" / "corpus" / "paraphrases.json").read_text(encoding="utf-8"))


def vector(text: str) -> Vector:
    found = unit(ngrams.embed(text))
    assert found is not None
    return found


VECTORS = {pair["id"]: vector(pair["text"]) for pair in CORPUS}


def ranked(text: str) -> list[str]:
    query = vector(text)
    return sorted(VECTORS, key=lambda name: -similarity(query, VECTORS[name]))


@pytest.mark.parametrize("pair", CORPUS, ids=lambda pair: pair["id"])
def test_a_paraphrase_finds_its_text_among_the_first_three(pair: dict[str, str]) -> None:
    assert pair["id"] in ranked(pair["paraphrase"])[:3]


@pytest.mark.parametrize("pair", CORPUS, ids=lambda pair: pair["id"])
def test_a_text_finds_itself_first(pair: dict[str, str]) -> None:
    assert ranked(pair["text"])[0] == pair["id"]
    assert similarity(vector(pair["text"]), VECTORS[pair["id"]]) == pytest.approx(1.0, abs=1e-6)


def test_it_says_what_it_is_and_has_256_numbers() -> None:
    (found,) = BuiltinEmbedder().embed(["Rivers."], deadline=Deadline.after(1))
    assert BuiltinEmbedder().name == "builtin-ngrams"
    assert not isinstance(found, Exception)
    assert len(found) == 256


@pytest.mark.parametrize("text", ["x", "!", "?!", "日", "\U0001f600", "a b", "of", "7"])
def test_the_shortest_texts_have_a_vector(text: str) -> None:
    assert math.isclose(similarity(vector(text), vector(text)), 1.0, abs_tol=1e-6)


def test_it_is_the_same_in_every_process() -> None:
    code = "from embeddings import ngrams; print(ngrams.embed('Rivers shape the land.'))"
    path = f"{ROOT / 'functions'}:{ROOT / 'layers' / 'isolane'}"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] == f"{ngrams.embed('Rivers shape the land.')}\n"


def test_the_longest_text_takes_time_in_proportion() -> None:
    """Whatever it is made of: no text may hold a worker up."""
    for pattern in ("word{} ", "{}", "日本{}"):
        text = "".join(pattern.format(number) for number in range(50_000))[:50_000]
        took = []
        for length in (12_500, 50_000):
            started_s = time.process_time()
            ngrams.embed(text[:length])
            took.append(time.process_time() - started_s)
        assert all(more < 12 * less + 0.05 for less, more in pairwise(took))
