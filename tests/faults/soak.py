"""A soak: thousands of tasks through a deployed stack whose calls to AWS fail and whose processes are killed.

    make soak [TASKS=2000] [SEED=7] [LIMIT_S=300]

The stack is one of its own. Its functions find AWS behind a faulty proxy, its scorer is a model server that has bad
moments, and while texts are handed in, processes of its functions die at random. At the end the books must balance.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from tests.deployed import Deployed
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.environment import door, logs, processes
from tests.environment.beside import deploy_beside, remove, stack_name
from tests.environment.console import run, say
from tests.environment.deploy import Deployment, deploy
from tests.environment.up import up
from tests.faults import proxy
from tests.faults.proxy_faults import Settings
from tests.faults.soak_accounts import Books, violations
from tests.faults.soak_clients import Callers, Sent
from tests.faults.soak_documents import Batch, Owners, shelf
from tests.faults.soak_plan import Plan, Soaked, Watch
from tests.faults.soak_report import report
from tests.waiting import WaitedTooLong, wait_until

PURPOSE = "soak"
KEY = re.compile(r"soak-[0-9a-f]{8}-\d+")
VICTIMS = ("ScoringWorker", "EmbeddingWorker", "ScoringWorker", "ScoringApi", "EmbeddingsApi")
"""The worker of texts twice, for it has more to lose. Not what records dead letters: they come back after 3 minutes."""
ORPHANS_S = 60
"""A message whose row was never written lives this long: its caller's next try made another."""


def soak(first: Deployment, plan: Plan) -> Soaked:
    """Deploys the stack beside the first, soaks it, reads the books, and removes it."""
    watch = Watch()
    settings = Settings(rate=plan.rate, kinds=plan.kinds, seed=plan.seed)
    with (
        ModelServer() as server,
        proxy.running(upstream=first.emulator.url, settings=settings) as faulty,
        door.for_functions(first.emulator, server.url) as model_url,
        door.for_functions(first.emulator, faulty.url) as faulty_url,
        _stack(first, plan, model_url=model_url, faulty_url=faulty_url) as stack,
        watch.running(plan.limit_s),
    ):
        watch.lap("deployed")
        server.play(*_moods(plan))
        sent, batches, kills = _soaked(stack, plan, watch)
        _wait_for_rest(stack, watch)
        watch.lap("at rest")
        books = _read(stack, sent, batches, server=server)
        faults = faulty.judge.control("GET", b"")["counters"]
        complaints = _complaints(stack)
    return Soaked(
        plan=plan,
        books=books,
        faults=faults,
        kills=kills,
        complaints=complaints,
        seconds=watch.laps,
        broken=violations(books),
    )


@contextmanager
def _stack(first: Deployment, plan: Plan, *, model_url: str, faulty_url: str) -> Iterator[Deployed]:
    changes = {
        "EndpointUrl": faulty_url,
        "ScorerChain": "openai:test-model",
        "OpenAiBaseUrl": f"{model_url}/v1",
        "OpenAiKey": "sk-test-key",
        "ModelTimeout": "1",
        "ModelConcurrency": str(plan.model_calls),
        "ScoreBatchSize": str(plan.batch),
        "PoolSize": str(plan.batch),
        "WorkerTimeout": str(plan.worker_timeout_s),
        "WorkerVisibility": str(6 * plan.worker_timeout_s),
        "LogLevel": "WARNING",
    }
    try:
        yield Deployed(deployment=deploy_beside(first, purpose=PURPOSE, changes=changes))
    finally:
        remove(first, purpose=PURPOSE)


def _moods(plan: Plan) -> list[steps.Step]:
    """What the model does with one request after another: mostly well, now and then never, and seldom not now.

    Five of the last in a minute open its breaker, and then nothing moves for half of one.
    """
    kinds = [steps.score(80, delay_s=0.05), steps.quota_exhausted(), steps.error_page(500), steps.reset()]
    return random.Random(plan.seed).choices(kinds, weights=[985, 12, 1, 2], k=plan.tasks * 2)


def _soaked(stack: Deployed, plan: Plan, watch: Watch) -> tuple[list[Sent], list[Batch], Counter[str]]:
    """Every text and every batch handed in while processes die, then followed to its end."""
    name = uuid.uuid4().hex[:8]
    keys = [f"soak-{name}-{number}" for number in range(plan.tasks)]
    sent = [Sent(key=key, text=f"Rivers shape the land, because water carries soil. {key}") for key in keys]
    batches = [Batch(key=f"batch-{name}-{number}") for number in range(plan.batches)]
    callers = Callers(api=stack.api, clients=plan.clients, over=watch.over)
    owners = Owners(callers=Callers(api=stack.api, clients=2, over=watch.over))
    with _killing(plan, watch, sent=sent) as kills, ThreadPoolExecutor(1) as beside:
        handing_in = beside.submit(owners.submit, batches)
        callers.submit(sent)
        handing_in.result()
    watch.lap("handed in")
    owners.follow(batches)
    callers.follow(sent)
    watch.lap("followed to the end")
    return sent, batches, kills


@contextmanager
def _killing(plan: Plan, watch: Watch, *, sent: list[Sent]) -> Iterator[Counter[str]]:
    """Kills a process of the stack every few seconds, once work is under way; where there is no /proc, none."""
    kills: Counter[str] = Counter()
    enough = threading.Event()
    dice = random.Random(plan.seed)

    def kill() -> None:
        victims = itertools.cycle(VICTIMS)
        victim = next(victims)
        while not (enough.wait(dice.uniform(*plan.kill_every_s)) or watch.over.is_set()):
            running = processes.running(victim, stack_name=stack_name(PURPOSE))
            under_way = any(each.ids for each in sent) and kills.total() < plan.most_kills
            if under_way and running and processes.kill(dice.choice(running)):
                kills[victim] += 1
                victim = next(victims)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield kills
    finally:
        enough.set()
        killer.join()


def _wait_for_rest(stack: Deployed, watch: Watch) -> None:
    """Until both queues are empty; messages that nobody's row is for go after a minute."""

    def empty() -> bool:
        return not any(stack.in_queue(queue) for queue in (stack.queue, stack.dead_letters, stack.embed_queue))

    with suppress(WaitedTooLong):  # what is left is counted
        wait_until(empty, description="the queues are empty", timeout_s=min(watch.left_s, ORPHANS_S + 30))


def _read(stack: Deployed, sent: list[Sent], batches: list[Batch], *, server: ModelServer) -> Books:
    found = [KEY.search(request.body) for request in server.requests]
    state = stack.rows(stack.state)
    values = [stack.values.live(row) for row in stack.rows(stack.values.table)]
    return Books(
        sent=sent,
        rows={row["task_id"]: row for row in stack.rows(stack.tasks.table)},
        letters=frozenset(row["sk"] for row in state if row["pk"] == "dead-letters"),
        asked=Counter(match[0] for match in found if match is not None),
        cached=[value["result"] for value in values if value is not None and "result" in value],
        at_once=server.max_concurrency,
        semaphores=[row for row in state if "leases" in row and "#compaction#" not in row["pk"]],
        left={
            "the queue": stack.in_queue(stack.queue),
            "the dead-letter queue": stack.in_queue(stack.dead_letters),
            "the queue of documents": stack.in_queue(stack.embed_queue),
        },
        shelf=shelf(batches, rows=state),
    )


def _complaints(stack: Deployed) -> Counter[str]:
    """What the functions logged as going wrong: their words and the kind of error, counted."""
    found: Counter[str] = Counter()
    for function, group in logs.log_groups(stack.url, stack_name=stack_name(PURPOSE)).items():
        lines = (line for _, _, message in logs.lines(stack.url, group=group) for line in message.splitlines())
        found.update(f"{function}: {said}" for line in lines if (said := _complaint(line)) is not None)
    return found


def _complaint(line: str) -> str | None:
    if not line.startswith("{"):
        return None
    told = json.loads(line)
    return f"{told['message']} ({told.get('exception_name') or told.get('error')})" if "level" in told else None


def main() -> None:
    """Soaks as much as TASKS says, and shows what came of it."""
    names = [name for name in ("tasks", "seed", "limit_s") if os.environ.get(name.upper())]
    plan = Plan(**{name: int(os.environ[name.upper()]) for name in names})  # type: ignore[arg-type]  # whole numbers
    say(f"Soaking: {plan.tasks} tasks, {plan.clients} clients, {plan.rate:.0%} of calls failing, seed {plan.seed} …")
    soaked = soak(deploy(up()), plan)
    say(report(soaked))
    sys.exit(1 if soaked.broken else 0)


if __name__ == "__main__":
    raise SystemExit(run(main))
