"""How many reservations a second, side by side with a bare loop of the same calls, on DynamoDB Local and the emulator.

`bare` writes the same two items with one TransactWriteItems and reads the workshop with one GetItem, with nothing of
the library, and tries again at once when it meets a conflict. Rounds of both take turns, so that a machine that slows
down slows both, and quoted is the median round; once for one workshop that all want, once spread over a hundred.

    python -m tests.benchmarks.reservations          # ROUNDS=9, REQUESTS=200, THREADS=8
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

from isolane.reservations import Reservations
from isolane.workshop import Decision
from tests.environment import clients
from tests.environment.dynamodb_local import running
from tests.environment.up import up
from tests.world import World

ROUNDS = int(os.environ.get("ROUNDS", "9"))
REQUESTS = int(os.environ.get("REQUESTS", "200"))
THREADS = int(os.environ.get("THREADS", "8"))
WARM_UP_ROUNDS = 4
"""DynamoDB Local compiles what it does often; before that, its first thousand calls say nothing."""
LEAST_RATIO = 0.8
CAPACITY = 1_000_000

Reserve = Callable[[int], object]
"""Reserves one seat in the workshop of this number."""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def bare(world: World) -> Reserve:
    """The calls themselves."""
    client, table, numbers = world.client("dynamodb"), world.state.name, count()
    nonce = {"S": "0" * 32}

    def write(workshop: str, request_id: str) -> None:
        attempt = {
            "pk": {"S": f"bare#{workshop}"},
            "sk": {"S": f"attempt#{request_id}"},
            "workshop": {"S": workshop},
            "request_id": {"S": request_id},
            "seats": {"N": "1"},
            "caller": {"S": "ann"},
            "nonce": nonce,
            "decision": {"S": "accepted"},
            "decided_at_ms": {"N": "1800000000000"},
        }
        names = {"#c": "capacity", "#a": "available", "#r": "reserved", "#t": "accepted"}
        client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": table,
                        "Item": attempt,
                        "ConditionExpression": "attribute_not_exists(pk)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
                {
                    "Update": {
                        "TableName": table,
                        "Key": {"pk": {"S": f"bare#{workshop}"}, "sk": {"S": "workshop"}},
                        "UpdateExpression": "SET #c = if_not_exists(#c, :first), "
                        "#a = if_not_exists(#a, :first) - :one, #r = if_not_exists(#r, :zero) + :one, "
                        "#t = if_not_exists(#t, :zero) + :one",
                        "ConditionExpression": "attribute_not_exists(#a) OR #a >= :one",
                        "ExpressionAttributeNames": names,
                        "ExpressionAttributeValues": {
                            ":one": {"N": "1"},
                            ":zero": {"N": "0"},
                            ":first": {"N": str(CAPACITY)},
                        },
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        )

    def reserve(number: int) -> None:
        workshop, request_id = f"workshop-{number}", f"request-{next(numbers)}"
        while True:
            try:
                write(workshop, request_id)
            except client.exceptions.TransactionCanceledException:
                continue
            break
        key = {"pk": {"S": f"bare#{workshop}"}, "sk": {"S": "workshop"}}
        assert client.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]

    return reserve


def ours(world: World, *, workshops: int) -> Reserve:
    reservations, numbers = Reservations(world.state), count()
    for number in range(workshops):
        reservations.set_capacity(f"workshop-{number}", capacity=CAPACITY)

    def reserve(number: int) -> None:
        request_id = f"request-{next(numbers)}"
        made = reservations.reserve(f"workshop-{number}", request_id=request_id, seats=1, caller="ann")
        assert made.attempt.decision is Decision.ACCEPTED

    return reserve


def rate(reserve: Reserve, *, workshops: int) -> float:
    """Reservations a second."""
    began_s = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda number: reserve(number % workshops), range(REQUESTS)))
    return REQUESTS / (time.perf_counter() - began_s)


def compare(world: World, *, workshops: int) -> dict[str, float]:
    """The median rate of each kind."""
    kinds: dict[str, Any] = {"bare": bare(world), "ours": ours(world, workshops=workshops)}
    rounds = [
        {name: rate(reserve, workshops=workshops) for name, reserve in kinds.items()}
        for _ in range(WARM_UP_ROUNDS + ROUNDS)
    ]
    return {name: statistics.median(each[name] for each in rounds[WARM_UP_ROUNDS:]) for name in kinds}


def report(place: str, url: str) -> bool:
    """Whether the goal is met there."""
    client, met = clients.dynamodb(url), []
    for workshops in (1, 100):
        world = World(lambda _: client)
        world.make_tables()
        rates = compare(world, workshops=workshops)
        world.remove_tables()
        ratio = rates["ours"] / rates["bare"]
        spread = "one workshop" if workshops == 1 else f"{workshops} workshops"
        say(f"  {place}, {spread:<14}{rates['bare']:>8.0f}/s bare{rates['ours']:>8.0f}/s ours{ratio:>8.2f} x bare")
        met.append(ratio >= LEAST_RATIO)
    return all(met)


@contextmanager
def places() -> Iterator[dict[str, str]]:
    with running() as local:
        yield {"DynamoDB Local": local.url, "emulator": up().url}


def main() -> int:
    say(f"reservations by {THREADS} threads, median of {ROUNDS} rounds of {REQUESTS}; goal: {LEAST_RATIO} x bare")
    with places() as urls:
        met = [report(place, url) for place, url in urls.items()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
