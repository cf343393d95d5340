"""A crowd of threads in several processes that all want one turn, and what each was seen to do with it.

Each one's work is to add 1 to a number in the table by reading and then writing it, which goes wrong as soon as two do
it at once, and takes the time of two calls.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

from isolane.at_most import at_most
from isolane.aws.table import Table
from isolane.permits import Permits
from tests.environment import clients
from tests.overlap import Interval

COUNTER = {"pk": "counter", "sk": "counter"}
_PATIENCE_S = 120


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who comes: so many threads in so many processes, each for a turn of at most `n` at once."""

    url: str
    table: str
    n: int
    processes: int = 5
    threads: int = 10

    def come(self) -> list[Interval]:
        """Lets all of them have their turn. Returns when each was at work."""
        context = multiprocessing.get_context("spawn")  # a process of its own, with nothing shared
        with ProcessPoolExecutor(self.processes, mp_context=context) as processes:
            lists = processes.map(_one_process, [self] * self.processes, timeout=_PATIENCE_S)
            return [interval for intervals in lists for interval in intervals]


def count_of(table: Table) -> int:
    """What all the work has come to."""
    return int((table.get(COUNTER) or {"value": 0})["value"])


def _one_process(crowd: Crowd) -> list[Interval]:
    table = Table(clients.dynamodb(crowd.url), crowd.table)
    with ThreadPoolExecutor(crowd.threads) as threads:
        return list(threads.map(lambda _: _one_turn(table, n=crowd.n), range(crowd.threads)))


def _one_turn(table: Table, *, n: int) -> Interval:
    with at_most(Permits(table), n, name="crowd", wait_s=_PATIENCE_S) as held:
        from_ns = time.monotonic_ns()
        table.put({**COUNTER, "value": count_of(table) + 1})
        return Interval(from_ns=from_ns, until_ns=time.monotonic_ns(), who=held.lease.holder)
