"""What is right in the lab, derived from what was asked: the score of a text, its vector, its keys."""

import hashlib

from isolane.json_edge import digest
from isolane.similarity import Vector, unit
from isolane.task import Task
from scoring.api import KIND
from scoring.cache import cache_key
from tests.faults.case import CHAIN, OWNER
from tests.pictures import png


def vector_of(text: str) -> Vector:
    """The one right vector of a text."""
    found = unit(hashlib.sha256(text.encode()).digest()[:4])
    assert found is not None
    return found


def long_text(number: int) -> str:
    """A text in two parts, each a paragraph of its own and of one length."""
    return "\n\n".join(f"Part {part} of text {number}. ".ljust(4_000, "x") for part in ("a", "b"))


def parts_in(text: str) -> list[str]:
    """The parts that it is scored in."""
    return text.split("\n\n")


def score_of(text: str) -> int:
    """The one right score of a text."""
    if len(parts_in(text)) > 1:  # of one length: half up, without a weight
        return (sum(map(score_of, parts_in(text))) * 2 + 2) // 4
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 101


def picture_of(prompt: str) -> bytes:
    """The one right picture of a prompt."""
    return png(width=2 + len(prompt) % 7, height=2 + sum(prompt.encode()) % 13)


def place_of(task: Task) -> str:
    """Where in the bucket the picture of a task belongs."""
    return f"images/{task.task_id}-{task.nonce}"


def fingerprint_of(text: str) -> str:
    return digest({"kind": KIND, "text": text})


def cache_key_of(text: str) -> str:
    return cache_key(text, owner=OWNER, chain=CHAIN)
