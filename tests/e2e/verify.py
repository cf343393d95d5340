"""Holds any deployment to what reservations promise: `make verify URL=… [TOKEN=…]`. Standard library only.

10 at once for 4 seats; the same again; one more; 12 at once in another workshop; then 500 requests of 1 to 4 seats from
32 clients for 100 seats, some sent again and some canceled, and what all of them saw is checked for linearizability.
The last part needs a TOKEN of an admin. SEED=… repeats the plan of a run; the workshops' names are new each time.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.linearizability import Call, problems

CLIENTS = 32
REQUESTS = 500
CAPACITY = 100
AGAIN = 0.2
CANCELED = 0.2
MOST_TRIES = 20
LONGEST_WAIT_S = 3.0
TIMEOUT_S = 35
TOO_MANY = 429
"""Nothing was looked at: come again when you are told to. No try, however often."""
LONGEST_LIMITED_S = 1_800.0
BUSY = {502, 503, 504}
DEPLOYED_LAST = Path(__file__).resolve().parents[2] / ".local" / "api-url"
OUTCOMES = {201: "accepted", 409: "rejected", 200: "canceled", 404: "not_found"}


class Broken(Exception):
    """A promise was not kept; the message says which."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; status 0 where nothing did."""

    status: int
    body: dict[str, Any]
    retry_after_s: float
    began_s: float
    ended_s: float


@dataclass(frozen=True, kw_only=True)
class Api:
    """The deployment, as any client sees it."""

    url: str
    token: str | None

    def ask(self, method: str, path: str, *, body: Any = None) -> Answer:
        """One request, whatever comes of it."""
        headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}{path}", data=data, headers=headers, method=method)  # noqa: S310 - the address is the person's own
        began_s = time.monotonic()
        status, text, retry_after = _sent(request)
        ended_s = time.monotonic()
        return Answer(status=status, body=_parsed(text), retry_after_s=retry_after, began_s=began_s, ended_s=ended_s)

    def reserve(self, workshop: str, request_id: str, seats: int) -> Answer:
        return self.ask("POST", f"/workshops/{workshop}/reservations", body={"requestId": request_id, "seats": seats})

    def cancel(self, workshop: str, request_id: str) -> Answer:
        return self.ask("DELETE", f"/workshops/{workshop}/reservations/{request_id}")

    def status(self, workshop: str) -> dict[str, Any]:
        return self.ask("GET", f"/workshops/{workshop}/status").body


def _sent(request: urllib.request.Request) -> tuple[int, bytes, float]:
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - the same
            return answer.status, answer.read(), 0.0
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read(), _seconds(answer.headers.get("Retry-After"))
    except OSError:
        return 0, b"", 1.0


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 1.0


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


@dataclass(kw_only=True)
class Recorder:
    """Clients of one workshop who come again where they are told to, and take down all that they see."""

    api: Api
    workshop: str
    calls: list[Call] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reserve(self, request_id: str, seats: int) -> Call:
        return self._until_told(
            lambda: self.api.reserve(self.workshop, request_id, seats), request_id, seats, kind="reserve"
        )

    def cancel(self, request_id: str, seats: int) -> Call:
        return self._until_told(lambda: self.api.cancel(self.workshop, request_id), request_id, seats, kind="cancel")

    def _until_told(self, ask: Callable[[], Answer], request_id: str, seats: int, *, kind: str) -> Call:
        for _ in range(MOST_TRIES):
            answer = _let_in(ask)
            known = answer.status not in BUSY and answer.status != 0
            call = Call(
                kind=kind,
                request_id=request_id,
                seats=seats,
                began_s=answer.began_s,
                ended_s=answer.ended_s,
                outcome=OUTCOMES.get(answer.status, "") if known else "",
                replayed=bool(answer.body.get("replayed")),
                reserved=answer.body.get("reserved") if known else None,
            )
            with self._lock:
                self.calls.append(call)
            if known:
                _require(answer.status in OUTCOMES, f"{kind} {request_id}: {answer.status} {answer.body}")
                return call
            time.sleep(min(answer.retry_after_s, LONGEST_WAIT_S) * random.uniform(0.5, 1.0))
        raise Broken(f"{kind} {request_id}: not decided in {MOST_TRIES} tries")


def _let_in(ask: Callable[[], Answer]) -> Answer:
    """The first answer that is not about a rate limit."""
    until_s = time.monotonic() + LONGEST_LIMITED_S
    while (answer := ask()).status == TOO_MANY:
        _require(time.monotonic() < until_s, f"kept out by a rate limit for {LONGEST_LIMITED_S:g} s")
        time.sleep(answer.retry_after_s * random.uniform(1.0, 1.2))
    return answer


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def _same(found: Any, wanted: Any, what: str) -> None:
    _require(found == wanted, f"{what}: {found}, and should be {wanted}")


def at_once(recorder: Recorder, names: Sequence[str], *, seats: int = 1) -> list[Call]:
    """All of these requests, begun together."""
    ready = threading.Barrier(len(names))

    def one(name: str) -> Call:
        ready.wait(timeout=30)
        return recorder.reserve(name, seats)

    with ThreadPoolExecutor(len(names)) as threads:
        return list(threads.map(one, names))


def crowd_for_four_seats(recorder: Recorder, *, crowd: int) -> str:
    """More than four want one of four seats, all at once."""
    made = at_once(recorder, [f"request-{number}" for number in range(crowd)])
    outcomes = Counter(call.outcome for call in made)
    _same(outcomes, Counter(accepted=4, rejected=crowd - 4), "decisions")
    _require(all((call.reserved or 0) <= 4 for call in made), "an answer told of more than 4 seats")
    _adds_up(recorder, capacity=4)
    _linearizable(recorder, capacity=4)
    return f"{outcomes['accepted']} accepted, {outcomes['rejected']} rejected, the status agrees"


def replays(recorder: Recorder) -> str:
    """The same requests again, one after the other, then all at once."""
    first = {call.request_id: call.outcome for call in recorder.calls if call.outcome}
    before = recorder.api.status(recorder.workshop)
    again = [recorder.reserve(name, 1) for name in first] + at_once(recorder, list(first))
    _require(all(call.replayed for call in again), "an answer was not told as a replay")
    _require(all(call.outcome == first[call.request_id] for call in again), "a decision was changed")
    _same(recorder.api.status(recorder.workshop), before, "the status after the replays")
    return f"{len(again)} replays, each with its first decision, and nothing added"


def one_more(recorder: Recorder) -> str:
    """Another request, for which there is no seat."""
    before = recorder.api.status(recorder.workshop)
    _same(recorder.reserve("one-more", 1).outcome, "rejected", "one more")
    rejected = {**before, "rejectedRequests": before["rejectedRequests"] + 1}
    _same(recorder.api.status(recorder.workshop), rejected, "the status after it")
    return "rejected, and counted"


Step = tuple[str, str, int]
"""`reserve` or `cancel`, a request id, its seats."""


def plan(chance: random.Random) -> list[list[Step]]:
    """What each client does, in order; the same for the same seed."""
    requests = [(f"request-{number}", chance.randint(1, 4)) for number in range(REQUESTS)]
    clients: list[list[Step]] = [[] for _ in range(CLIENTS)]
    for number, (name, seats) in enumerate(requests):
        mine = clients[number % CLIENTS]
        mine.append(("reserve", name, seats))
        for share, kind in ((AGAIN, "reserve"), (CANCELED, "cancel")):
            if chance.random() < share:
                # Somebody's of about now, who may not have come yet, or of long ago.
                other = max(0, min(REQUESTS - 1, number - chance.choice((0, 1, 5, 30, 100)) + chance.randint(0, 3)))
                mine.append((kind, *requests[other]))
    return clients


def crowd_for_a_hundred(recorder: Recorder, *, seed: int) -> str:
    """Many clients with a plan each; what they saw must have been possible."""
    resized = recorder.api.ask("PUT", f"/workshops/{recorder.workshop}", body={"capacity": CAPACITY})
    _require(resized.status != 403, "needs the TOKEN of an admin, to make a workshop of 100 seats")
    _same(resized.status, 200, "making a workshop of 100 seats")
    steps = plan(random.Random(seed))
    began_s = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(lambda mine: [getattr(recorder, kind)(name, seats) for kind, name, seats in mine], steps))
    took_s = time.monotonic() - began_s
    _adds_up(recorder, capacity=CAPACITY)
    _linearizable(recorder, capacity=CAPACITY)
    outcomes = Counter(call.outcome or "busy" for call in recorder.calls)
    told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in sorted(outcomes.items()))
    return f"{len(recorder.calls)} calls in {took_s:.1f} s ({told}), linearizable, the status agrees"


def _adds_up(recorder: Recorder, *, capacity: int) -> None:
    """The status is what the answers add up to."""
    seats = {call.request_id: call.seats for call in recorder.calls if call.outcome == "accepted"}
    for call in recorder.calls:
        if call.outcome == "canceled":
            seats.pop(call.request_id, None)
    rejected = {call.request_id for call in recorder.calls if call.outcome == "rejected"}
    wanted = {
        "workshop": recorder.workshop,
        "capacity": capacity,
        "reserved": sum(seats.values()),
        "acceptedRequests": len(seats),
        "rejectedRequests": len(rejected),
        "acceptedSeats": sum(seats.values()),
    }
    _same(recorder.api.status(recorder.workshop), wanted, "the status")


def _linearizable(recorder: Recorder, *, capacity: int) -> None:
    found = problems(recorder.calls, capacity=capacity)
    _require(not found, f"not linearizable: {'; '.join(found[:3])}")


def parts(api: Api, *, seed: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each part of the verification, by name."""
    suffix = uuid.uuid4().hex[:8]
    four, other, hundred = (
        Recorder(api=api, workshop=f"verify-{name}-{suffix}") for name in ("four", "other", "hundred")
    )
    yield "10 at once for 4 seats", lambda: crowd_for_four_seats(four, crowd=10)
    yield "the same requests again", lambda: replays(four)
    yield "one more request", lambda: one_more(four)
    yield "12 at once in another workshop", lambda: crowd_for_four_seats(other, crowd=12)
    yield f"{REQUESTS} from {CLIENTS} clients for {CAPACITY} seats", lambda: crowd_for_a_hundred(hundred, seed=seed)


def verify(api: Api, *, seed: int, say: Callable[[str], object]) -> bool:
    """Runs all parts, says what came of each, and returns whether all is well."""
    say(f"{api.url}, SEED={seed}")
    well = True
    for name, part in parts(api, seed=seed):
        try:
            say(f"ok    {name}: {part()}")
        except Broken as broken:
            well = False
            say(f"FAIL  {name}: {broken}")
    say("All promises were kept." if well else "A promise was NOT kept.")
    return well


def main(environ: Mapping[str, str] = os.environ) -> int:
    """0 where all promises were kept, 1 where one was not, 2 where nobody answers."""
    url = environ.get("URL") or (DEPLOYED_LAST.read_text().strip() if DEPLOYED_LAST.exists() else "")
    api = Api(url=url.rstrip("/"), token=environ.get("TOKEN") or None)
    if not url or api.ask("GET", "/health").status != 200:
        print(f"Nothing healthy answers at {url or 'no address'}: make verify URL=…")  # noqa: T201 - a command's answer
        return 2
    seed_said = environ.get("SEED") or str(random.randrange(10**6))
    if not seed_said.isdecimal():
        print(f"SEED is a whole number, and {seed_said!r} is not.")  # noqa: T201 - the same
        return 2
    return 0 if verify(api, seed=int(seed_said), say=lambda line: print(line, flush=True)) else 1  # noqa: T201 - the same


if __name__ == "__main__":
    sys.exit(main())
