"""What processes and people do to the product, in the lab: each act is a function of the lab, the case and a seat."""

from collections.abc import Callable

from tests.application import delete
from tests.faults.case import CLAIM_S, LOOKS_AT_THE_CLOCK, PERMITS, Answered, Case
from tests.faults.lab import Lab
from tests.faults.right_answers import cache_key_of, score_of
from tests.faults.seat import Seat
from tests.faults.stage import Act, Turn
from tests.world import receive

Do = Callable[[Lab, Case, Seat], object]


def submit(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller submits, without a key."""
    return case.note(seat.submit(case))


def submit_with_key(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller submits under the case's key."""
    return case.note(seat.submit(case, key=case.key))


def submit_other_body(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller submits another text under the case's key."""
    return case.note(seat.submit(case, key=case.key, text=case.texts[1]))


def submit_other_text(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller submits another text, without a key."""
    return case.note(seat.submit(case, text=case.texts[1]))


def submit_long_text(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller submits a text that is scored in parts."""
    return case.note(seat.submit(case, text=case.texts[2]))


def cache_the_score(_lab: Lab, case: Case, seat: Seat) -> None:
    """The case's text was scored before."""
    case.cached_before = True
    value = {"result": {"score": score_of(case.text)}, "model": "model"}
    seat.app.world.values.put(cache_key_of(case.text), value, ttl_s=60)


def take(lab: Lab, case: Case, _seat: Seat) -> None:
    """Lambda's poller receives what there is; it is not handed to a worker yet."""
    lab.observe()
    case.records = lab.receive()


def deliver(_lab: Lab, case: Case, seat: Seat) -> None:
    """A worker gets what was taken; Lambda deletes what it has done."""
    seat.deliver(case.records)


def poll_and_deliver(_lab: Lab, _case: Case, seat: Seat) -> None:
    """The poller looks once, and a worker gets what it found."""
    seat.deliver(receive(seat.app.queue, most=3))


def put_aside(lab: Lab, case: Case, _seat: Seat) -> None:
    """SQS has handed out the message a thousand times, and moves it to the dead letters by itself."""
    queue, dead = lab.aws.app.queue, lab.aws.app.dead
    for record in case.records:
        dead.send(record["body"])
        delete(queue, record)


def take_letters(lab: Lab, case: Case, _seat: Seat) -> None:
    """Lambda's poller receives what lies among the dead letters."""
    lab.observe()
    case.letters = lab.receive_letters()


def bury(_lab: Lab, case: Case, seat: Seat) -> None:
    """The function behind the dead-letter queue gets what was taken."""
    seat.bury(case.letters)


def bury_what_is_there(lab: Lab, _case: Case, seat: Seat) -> None:
    """The same, with whatever lies there now."""
    seat.bury(lab.receive_letters())


def cancel(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """Its owner cancels the task."""
    return case.note(seat.cancel(case.task_id))


def read(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """Its owner asks for the result."""
    return case.note(seat.read(case.task_id))


def list_all(_lab: Lab, case: Case, seat: Seat) -> set[str]:
    """Its owner turns the pages until every task of the case was seen, or there are no more; which were seen."""
    ids = {change.key for change in case.changes if change.table == "TasksTable"}
    seen: set[str] = set()
    page = case.note(seat.page(limit=2))
    while page.status == 200:
        seen |= ids & {task["taskId"] for task in page.body["tasks"]}
        if seen == ids or page.body["cursor"] is None:
            return seen
        page = case.note(seat.page(limit=2, cursor=page.body["cursor"]))
    return ids


def take_all_permits(lab: Lab, _case: Case, _seat: Seat) -> None:
    """Another worker has taken them all, and has died since."""
    permits = lab.aws.app.bindings.permits
    permits.acquire(lab.aws.model.name, holder="another", lease_s=CLAIM_S, count=PERMITS, limit=PERMITS)


def reserve(request_id: str, *, seats: int = 1) -> Do:
    """A caller reserves seats."""
    return lambda _lab, case, seat: case.note(seat.reserve(request_id, seats=seats))


def give_back(request_id: str) -> Do:
    """A caller gives its seats back."""
    return lambda _lab, case, seat: case.note(seat.give_back(request_id))


def resize(capacity: int) -> Do:
    """An admin changes how many seats there are."""
    return lambda _lab, case, seat: case.note(seat.resize(capacity))


def take_reviews(reviewer: str) -> Do:
    """A reviewer takes what there is to judge."""
    return lambda _lab, _case, seat: seat.take_reviews(reviewer)


def judge(reviewer: str) -> Do:
    """A reviewer judges the task."""
    return lambda _lab, case, seat: case.note(seat.judge(case.task_id, reviewer))


def sweep(_lab: Lab, _case: Case, seat: Seat) -> None:
    """The sweeper runs."""
    seat.sweep()


def die_in_flight(lab: Lab, case: Case, _seat: Seat) -> None:
    """Another worker has begun to score an equal text, and has died since."""
    lab.aws.app.bindings.flights.board(cache_key_of(case.text), holder="another", lease_s=CLAIM_S)


def next_value(key: str | None = None) -> Do:
    """A caller takes the next value of a counter."""
    return lambda _lab, case, seat: case.note(seat.next_value(key=key))


def join(who: str, key: str | None = None) -> Do:
    """Somebody enters a room."""
    return lambda _lab, case, seat: case.note(seat.join(who, key=key))


def close_room(after_s: int) -> Do:
    """Somebody sets a room's alarm."""
    return lambda _lab, case, seat: case.note(seat.close_room(after_s))


def take_alarms(lab: Lab, case: Case, _seat: Seat) -> None:
    """Lambda's poller receives the alarms that there are."""
    lab.observe()
    case.alarms = lab.receive_alarms()


def ring(_lab: Lab, case: Case, seat: Seat) -> None:
    """The function behind the queue of alarms gets what was taken."""
    seat.ring(case.alarms)


def wait(seconds: float) -> Do:
    """Time passes."""
    return lambda lab, _case, _seat: lab.pass_time(seconds)


def in_turn(*acts: Do) -> Do:
    """One after the other."""

    def all_of_them(lab: Lab, case: Case, seat: Seat) -> None:
        for act in acts:
            act(lab, case, seat)
            lab.observe()

    return all_of_them


def nothing(_lab: Lab, _case: Case, _seat: Seat) -> None:
    """Nobody does anything."""


def as_actor(lab: Lab, do: Do) -> Act[Case]:
    """The act as an actor of a race, at a seat of its own; time may pass before it begins."""

    def act(case: Case, turn: Turn) -> object:
        turn.do("begins", lambda: None, touches=LOOKS_AT_THE_CLOCK)
        return do(lab, case, lab.seat(turn))

    return act
