"""What a soak says at its end."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.faults.soak_plan import Soaked

SLOWEST = 5


def report(soaked: Soaked) -> str:
    """A few lines of figures, and what is broken."""
    lines = {
        "time": _times(soaked),
        "calls to AWS": _faults(soaked.faults),
        "killed": _counts(soaked.kills),
        "answers": _counts(sum((sent.answers for sent in soaked.books.sent), Counter())),
        "tasks": _counts(Counter(str(row["status"]) for row in soaked.books.rows.values())),
        "attempts": _counts(Counter(str(row["attempt"]) for row in soaked.books.rows.values())),
        "documents": _documents(soaked),
        "model": f"{soaked.books.asked.total():,} requests, at most {soaked.books.at_once} at once",
        "dead letters": f"{len(soaked.books.letters)}",
        "waited": _waits(soaked),
        "logged": _counts(soaked.complaints),
        "violations": f"{len(soaked.broken)}",
    }
    return "\n".join([*(f"  {name:<13}{said}" for name, said in lines.items()), *soaked.broken])


def _times(soaked: Soaked) -> str:
    parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in soaked.seconds.items())
    worked_s = soaked.seconds["handed in"] + soaked.seconds["followed to the end"]
    return f"{parts}; {len(soaked.books.sent) / worked_s:.1f} tasks a second"


def _documents(soaked: Soaked) -> str:
    shelf = soaked.books.shelf
    told = sum((batch.answers for batch in shelf.batches), Counter())
    return f"{len(shelf.there)} vectors of {len(shelf.batches)} batches; answers: {_counts(told)}"


def _faults(counters: Mapping[str, Any]) -> str:
    by_kind = {kind: sum(operations.values()) for kind, operations in counters["by_kind"].items()}
    share = counters["struck"] / max(1, counters["calls"])
    return f"{counters['calls']:,}, of which {counters['struck']:,} struck ({share:.1%}): {_counts(Counter(by_kind))}"


def _waits(soaked: Soaked) -> str:
    took_s = sorted((sent.took_s for sent in soaked.books.sent if sent.took_s is not None), reverse=True)
    if not took_s:
        return "nobody saw an end"
    slowest = ", ".join(f"{seconds:.0f}" for seconds in took_s[:SLOWEST])
    return f"median {statistics.median(took_s):.0f} s; slowest {slowest} s"


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counted.items())) or "none"
