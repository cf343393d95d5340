"""What an exact search costs: 5,000 documents of 256 numbers, its arithmetic and the whole, before and after merging.

The whole is what `nearest` takes on DynamoDB Local and on the emulator: reading, unpacking, arithmetic. The goals are
300 ms of processor time for the arithmetic, and a second for the whole.

    python -m tests.benchmarks.vectors          # RUNS=9
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable

from isolane.blocks import Entry
from isolane.similarity import Vector, similarity, unit
from isolane.vectors import Vectors
from tests.environment import clients
from tests.environment.dynamodb_local import running
from tests.environment.up import up
from tests.world import World

RUNS = int(os.environ.get("RUNS", "9"))
DOCUMENTS = 5_000
NUMBERS = 256
A_BLOCK = 10
ARITHMETIC_S = 0.3
WHOLE_S = 1.0
MODEL = "model"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def median_s(work: Callable[[], object], *, clock: Callable[[], float]) -> float:
    took: list[float] = []
    for _ in range(RUNS):
        started_s = clock()
        work()
        took.append(clock() - started_s)
    return statistics.median(took)


def made() -> list[Vector]:
    dice = random.Random(7)
    found = [unit([dice.gauss(0, 1) for _ in range(NUMBERS)]) for _ in range(DOCUMENTS)]
    return [vector for vector in found if vector is not None]


def fill(store: Vectors, vectors: list[Vector]) -> None:
    for start in range(0, DOCUMENTS, A_BLOCK):
        entries = [
            Entry(document_id=f"document-{number}", version=(1, "0" * 32), vector=vectors[number])
            for number in range(start, start + A_BLOCK)
        ]
        store.add("ann", entries, model=MODEL, places=[("0" * 32, start)])


def search_s(store: Vectors, query: Vector) -> float:
    return median_s(lambda: store.nearest("ann", query, model=MODEL, limit=10), clock=time.perf_counter)


def on(name: str, url: str, vectors: list[Vector]) -> float:
    world = World(lambda _: clients.dynamodb(url))
    world.make_tables()
    store = Vectors(world.state)
    fill(store, vectors)
    as_written_s = search_s(store, vectors[77])
    started_s = time.perf_counter()
    fewer = store.compact("ann")
    merging_s = time.perf_counter() - started_s
    merged_s = search_s(store, vectors[77])
    assert store.nearest("ann", vectors[77], model=MODEL, limit=1)[0].document_id == "document-77"
    world.remove_tables()
    blocks = DOCUMENTS // A_BLOCK
    merged = f"{merged_s:.2f} s in {blocks - fewer}; merging {merging_s:.1f} s"
    say(f"{name}: {as_written_s:.2f} s in {blocks} blocks, {merged}")
    return max(as_written_s, merged_s)


def main() -> int:
    vectors = made()
    query = list(vectors[77])
    arithmetic_s = median_s(lambda: [similarity(query, vector) for vector in vectors], clock=time.process_time)
    say(f"arithmetic, {DOCUMENTS:,} x {NUMBERS}: {arithmetic_s * 1000:.0f} ms (goal {ARITHMETIC_S * 1000:.0f})")
    with running() as local:
        whole_s = [on("DynamoDB Local", local.url, vectors), on("emulator", up().url, vectors)]
    return 0 if arithmetic_s < ARITHMETIC_S and max(whole_s) < WHOLE_S else 1


if __name__ == "__main__":
    sys.exit(main())
