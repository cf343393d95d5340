"""What a permit costs on DynamoDB Local, side by side with the bare writes, and how much of a limit is used with it.

A pair is an acquire and a release; rounds of each kind take turns, so that a machine that slows down slows all, and
quoted is the median round. `bare` is two conditional updates of a number, which is the least that a semaphore can be.
python_dynamodb_lock, a published lock, is measured beside them where it is installed. Then a thousand items of 50 ms
are drained under a limit of five by more workers than that; ideal is 1000 x 50 ms / 5 = 10 s.

    python -m tests.benchmarks.permits          # ROUNDS=30, PAIRS=20, ITEMS=1000, WORKERS=8
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from typing import Any

from isolane.permits import Permits
from tests.environment import clients
from tests.environment.dynamodb_local import running
from tests.environment.places import REGION
from tests.world import World

ROUNDS = int(os.environ.get("ROUNDS", "30"))
PAIRS = int(os.environ.get("PAIRS", "20"))
ITEMS = int(os.environ.get("ITEMS", "1000"))
WORKERS = int(os.environ.get("WORKERS", "8"))
WARM_UP_ROUNDS = 15
"""DynamoDB Local compiles what it does often; before that, its first thousand calls say nothing."""
ITEM_S = 0.05
LIMIT = 5
MOST_RATIO = 1.25
LEAST_USED = {10: 0.9, 1: 0.8}
"""Of the ideal, by how many items a permit is held for."""
LEASE_S = 30.0

Pair = Callable[[], object]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def bare(world: World) -> Pair:
    """Take one of a number, and put it back, each under a condition."""
    client, table = world.client("dynamodb"), world.state.name
    row = {"pk": {"S": "bare"}, "sk": {"S": "bare"}}
    client.put_item(TableName=table, Item={**row, "free": {"N": str(LIMIT)}})

    def change(expression: str, *, when: str) -> None:
        client.update_item(
            TableName=table,
            Key=row,
            UpdateExpression=f"SET #free = {expression}",
            ConditionExpression=when,
            ExpressionAttributeNames={"#free": "free"},
            ExpressionAttributeValues={":n": {"N": "1"}},
        )

    def pair() -> None:
        change("#free - :n", when="#free >= :n")
        change("#free + :n", when="#free >= :n")

    return pair


def ours(world: World) -> Pair:
    permits, holders = Permits(world.state), count()
    permits.set_limit("bench", limit=LIMIT)

    def pair() -> None:
        lease = permits.acquire("bench", holder=f"holder-{next(holders)}", lease_s=LEASE_S)
        assert lease is not None
        permits.release(lease)

    return pair


def published(url: str, stack: ExitStack) -> Iterator[tuple[str, Pair]]:
    """The published lock, where it is installed: a lock of one, kept by a thread that sends heartbeats."""
    if importlib.util.find_spec("python_dynamodb_lock") is None:
        say("python_dynamodb_lock is not installed, and so not measured")
        return
    clients_of_locks: Any = importlib.import_module("python_dynamodb_lock.python_dynamodb_lock").DynamoDBLockClient
    resource: Any = clients.session().resource("dynamodb", endpoint_url=url, config=clients.CONFIG, region_name=REGION)
    clients_of_locks.create_dynamodb_table(clients.dynamodb(url), table_name="Locks")
    locks = clients_of_locks(resource, table_name="Locks")
    stack.callback(locks.close, release_locks=True)
    yield "python_dynamodb_lock", lambda: locks.acquire_lock("bench").release()


def round_ms(pair: Pair) -> float:
    started_s = time.perf_counter()
    for _ in range(PAIRS):
        pair()
    return (time.perf_counter() - started_s) / PAIRS * 1000


def compare(pairs: dict[str, Pair]) -> dict[str, float]:
    """The median of each kind, in milliseconds a pair."""
    for _ in range(WARM_UP_ROUNDS):
        for pair in pairs.values():
            round_ms(pair)
    rounds = [{name: round_ms(pair) for name, pair in pairs.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(each[name] for each in rounds) for name in pairs}


def drained_s(permits: Permits, *, name: str, held_for: int) -> float:
    """How long it takes to work on all items, each for its time, while a permit is held for so many of them."""

    def work(first: int) -> None:
        with permits.held(name, holder=f"items-{first}", lease_s=LEASE_S, limit=LIMIT, wait_s=300) as held:
            assert held is not None
            for _ in range(first, min(first + held_for, ITEMS)):
                time.sleep(ITEM_S)

    started_s = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(work, range(0, ITEMS, held_for)))
    return time.perf_counter() - started_s


def report_pairs(world: World, *, url: str, stack: ExitStack) -> bool:
    medians = compare({"bare": bare(world), "permits": ours(world), **dict(published(url, stack))})
    say(f"acquire and release, median of {ROUNDS} rounds of {PAIRS}")
    for name, median_ms in medians.items():
        say(f"  {name:<22}{median_ms:>8.2f} ms{median_ms / medians['bare']:>8.2f} x bare")
    say(f"  goal: permits at most {MOST_RATIO} x")
    return medians["permits"] <= MOST_RATIO * medians["bare"]


def report_drain(world: World) -> bool:
    say(f"{ITEMS} items of {ITEM_S * 1000:.0f} ms by {WORKERS} workers under a limit of {LIMIT}")
    met = []
    for held_for, goal in LEAST_USED.items():
        took_s = drained_s(Permits(world.state), name=f"drain-{held_for}", held_for=held_for)
        used = ITEMS * ITEM_S / LIMIT / took_s
        say(f"  a permit for {held_for:>2} {took_s:>8.2f} s{used:>8.1%} of the ideal, goal {goal:.0%}")
        met.append(used >= goal)
    return all(met)


def main() -> int:
    with running() as local, ExitStack() as stack:
        client = clients.dynamodb(local.url)
        world = World(lambda _: client)
        world.make_tables()
        met = [report_pairs(world, url=local.url, stack=stack), report_drain(world)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
