"""Who meets whom: the races of two that are tried in every order, and the crowds of three and four at random.

All of them end alike: what is left is delivered until nothing moves, and then the invariants hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isolane.compactions import LEASE_S as LEASE_S_OF_COMPACTIONS
from isolane.model_errors import ModelBusy, ReplyUnreadable
from isolane.reviews import LEASE_S
from isolane.task import RESULT_S, UNFINISHED_S, UNREVIEWED_S
from tests.faults import acts
from tests.faults import embedding_acts as documents
from tests.faults.acts import Do, as_actor, in_turn
from tests.faults.broken import Broken
from tests.faults.flows import ALARM_IS_HERE, BUSY_FOR_A_WHILE, IN_REVIEW, NO_TASK
from tests.faults.invariants import check
from tests.faults.lab import CLAIM_S, Case, Lab, Step
from tests.faults.race import Outcomes, Race
from tests.faults.schedule import time_passes


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """Some actors and what has happened before; `ends` are the states in which the first task may come to rest."""

    name: str
    actors: Mapping[str, Do]
    before: Do = acts.nothing
    time: float = 0.0
    """Seconds that pass in one step of their own, at every place among the others' steps; 0 where time stands still."""
    ends: Sequence[str] = ("completed",)
    script: Sequence[Step] = (None,)
    dying: Sequence[str] = field(default=())
    """Who dies at each of their steps in turn, in walks of their own."""
    most: int = 5_000
    """Orders that are tried, where all are asked for."""


_TAKEN = in_turn(acts.submit, acts.take)
_LAST_ATTEMPT = in_turn(acts.submit, acts.take, acts.deliver, acts.wait(CLAIM_S), acts.take)
_OLD_MESSAGE = in_turn(acts.submit_with_key, acts.take, acts.cancel, acts.wait(RESULT_S))
_ANY_END = ("completed", "failed", "canceled")

TASK_RACES = (
    Meeting(
        name="two deliveries of one message",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
        dying=("A",),
    ),
    Meeting(
        name="two claims, one lapses",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
        time=CLAIM_S + 2,
    ),
    Meeting(
        name="cancel against a delivery",
        before=_TAKEN,
        actors={"A": acts.deliver, "C": acts.cancel},
        ends=("completed", "canceled"),
        dying=("A", "C"),
    ),
    Meeting(
        name="cancel against giving back",
        before=_TAKEN,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "C": acts.cancel},
        ends=("completed", "canceled"),
    ),
    Meeting(
        name="submit against submit, one key",
        actors={"A": acts.submit_with_key, "B": acts.submit_with_key},
        dying=("A",),
    ),
    Meeting(
        name="submit against submit, other body",
        actors={"A": acts.submit_with_key, "B": acts.submit_other_body},
        dying=("A",),
    ),
    Meeting(
        name="submit against its own delivery",
        actors={"A": acts.submit_with_key, "B": acts.poll_and_deliver},
        dying=("A", "B"),
    ),
    Meeting(
        name="a reader's time-out against completion",
        before=in_turn(acts.submit, acts.wait(UNFINISHED_S - CLAIM_S / 2), acts.take),
        actors={"A": acts.deliver, "R": acts.read},
        time=CLAIM_S,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="giving up against a late success",
        before=_LAST_ATTEMPT,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "B": in_turn(acts.deliver, acts.bury_what_is_there)},
        time=CLAIM_S + 2,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="giving up against a late review",
        before=_LAST_ATTEMPT,
        script=(ModelBusy, ReplyUnreadable),
        actors={"A": acts.deliver, "B": in_turn(acts.deliver, acts.bury_what_is_there)},
        time=CLAIM_S + 2,
        ends=("in_review", "failed"),
    ),
    Meeting(
        name="two reviewers of one task",
        before=IN_REVIEW,
        script=(ReplyUnreadable,),
        actors={
            "E": in_turn(acts.take_reviews("eve"), acts.judge("eve")),
            "M": in_turn(acts.take_reviews("mallory"), acts.judge("mallory")),
        },
        ends=("completed", "in_review"),
        dying=("E",),
    ),
    Meeting(
        name="two reviewers, a lease lapses",
        before=in_turn(IN_REVIEW, acts.take_reviews("eve")),
        script=(ReplyUnreadable,),
        actors={"E": acts.judge("eve"), "M": in_turn(acts.take_reviews("mallory"), acts.judge("mallory"))},
        time=LEASE_S,
    ),
    Meeting(
        name="a verdict against a cancellation",
        before=in_turn(IN_REVIEW, acts.take_reviews("eve")),
        script=(ReplyUnreadable,),
        actors={"E": acts.judge("eve"), "C": acts.cancel},
        ends=("completed", "canceled"),
        dying=("E", "C"),
    ),
    Meeting(
        name="a verdict against the sweeper's time-out",
        before=in_turn(IN_REVIEW, acts.wait(UNREVIEWED_S - 10), acts.take_reviews("eve")),
        script=(ReplyUnreadable,),
        actors={"E": acts.judge("eve"), "S": acts.sweep},
        time=10,
        ends=("completed", "failed", "in_review"),
    ),
    Meeting(
        name="the dead letters' function against a late worker",
        before=in_turn(acts.submit, acts.take, acts.put_aside, acts.take_letters),
        actors={"A": acts.deliver, "D": acts.bury},
        ends=("completed", "failed"),
        dying=("A", "D"),
    ),
    Meeting(
        name="two readers time one task out",
        before=in_turn(acts.submit, acts.wait(UNFINISHED_S)),
        actors={"R": acts.read, "S": acts.read},
        ends=("failed",),
    ),
    Meeting(
        name="a key used again against its old message",
        before=_OLD_MESSAGE,
        actors={"A": acts.deliver, "B": acts.submit_other_body},
        ends=("completed", "canceled"),
        dying=("B",),
    ),
    Meeting(
        name="a key used again against a reader of the old",
        before=_OLD_MESSAGE,
        actors={"R": acts.read, "B": acts.submit_other_body},
        ends=("completed", "canceled"),
    ),
)

GUARDED_RACES = (
    Meeting(
        name="guarded: two deliveries of one message",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
    ),
    Meeting(
        name="guarded: two messages, one permit",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": in_turn(acts.submit_other_text, acts.poll_and_deliver)},
    ),
    Meeting(
        name="guarded: two deliveries, the model says when to come again",
        before=_TAKEN,
        script=(BUSY_FOR_A_WHILE, None),
        actors={"A": acts.deliver, "B": acts.deliver},
        ends=("completed", "failed"),
    ),
    Meeting(
        name="guarded: two equal texts",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": in_turn(acts.submit, acts.poll_and_deliver)},
        dying=("A",),
    ),
    Meeting(
        name="guarded: two deliveries of a long text, one lapses",
        before=in_turn(acts.submit_long_text, acts.take),
        actors={"A": acts.deliver, "B": acts.deliver},
        time=CLAIM_S + 4,
    ),
)
"""With a breaker, a flight and one permit before the model."""

_THREE_TAKEN = acts.reserve("others", seats=3)

WORKSHOP_RACES = (
    Meeting(
        name="two reserve the last seat",
        before=_THREE_TAKEN,
        actors={"A": acts.reserve("first"), "B": acts.reserve("second")},
        dying=("A",),
    ),
    Meeting(
        name="two reserve in a new workshop",
        actors={"A": acts.reserve("first", seats=3), "B": acts.reserve("second", seats=2)},
        dying=("A",),
    ),
    Meeting(
        name="one request is sent twice",
        actors={"A": acts.reserve("first"), "B": acts.reserve("first")},
        dying=("A",),
    ),
    Meeting(
        name="one request is sent twice where there are too few seats",
        before=_THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.reserve("first", seats=2)},
        dying=("A",),
    ),
    Meeting(
        name="one request is sent twice with other seats",
        actors={"A": acts.reserve("first"), "B": acts.reserve("first", seats=2)},
    ),
    Meeting(
        name="reserve against giving back",
        before=_THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.give_back("others")},
        dying=("A", "B"),
    ),
    Meeting(
        name="a request sent twice against giving back",
        before=_THREE_TAKEN,
        actors={
            "A": in_turn(acts.reserve("first", seats=2), acts.reserve("first", seats=2)),
            "B": acts.give_back("others"),
        },
    ),
    Meeting(
        name="two give the same seats back",
        before=_THREE_TAKEN,
        actors={"A": acts.give_back("others"), "B": acts.give_back("others")},
        dying=("A",),
    ),
    Meeting(
        name="reserve against a smaller capacity",
        before=_THREE_TAKEN,
        actors={"A": acts.reserve("first"), "B": acts.resize(3)},
        dying=("A", "B"),
    ),
    Meeting(
        name="reserve against a larger capacity",
        before=_THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.resize(5)},
    ),
    Meeting(
        name="reserve in a new workshop against its first capacity",
        actors={"A": acts.reserve("first", seats=2), "B": acts.resize(1)},
    ),
    Meeting(
        name="giving back against a smaller capacity",
        before=_THREE_TAKEN,
        actors={"A": acts.give_back("others"), "B": acts.resize(1)},
    ),
)
OBJECT_RACES = (
    Meeting(
        name="two take the next value",
        actors={"A": acts.next_value(), "B": acts.next_value()},
        dying=("A",),
    ),
    Meeting(
        name="two commands take the next value",
        before=acts.next_value(),
        actors={"A": acts.next_value("a"), "B": acts.next_value("b")},
        dying=("A",),
    ),
    Meeting(
        name="one command is sent twice",
        actors={"A": acts.next_value("a"), "B": acts.next_value("a")},
        dying=("A", "B"),
    ),
    Meeting(
        name="one command is sent twice, and nothing changes",
        before=acts.join("tom"),
        actors={"A": acts.join("tom", "a"), "B": acts.join("tom", "a")},
    ),
    Meeting(
        name="one command for two calls",
        actors={"A": acts.join("tom", "a"), "B": acts.join("ann", "a")},
    ),
    Meeting(
        name="one command is sent twice, another call between",
        before=acts.join("tom"),
        actors={"A": acts.join("tom", "a"), "B": in_turn(acts.join("ann"), acts.join("tom", "a"))},
    ),
)
_HANDED_IN = in_turn(documents.hand_in(), documents.take_documents)
_TWO_BATCHES = in_turn(_HANDED_IN, acts.wait(1), documents.hand_in(1), documents.take_documents)
EMBEDDING_RACES = (
    Meeting(
        name="two deliveries of the same documents",
        before=_HANDED_IN,
        actors={"A": documents.embed(), "B": documents.embed()},
        dying=("A",),
    ),
    Meeting(
        name="two batches of one owner",
        before=_TWO_BATCHES,
        actors={"A": documents.embed(), "B": documents.embed(1)},
        dying=("A",),
    ),
    Meeting(
        name="one batch is handed in twice",
        actors={"A": documents.hand_in_with_key, "B": documents.hand_in_with_key},
        dying=("A",),
    ),
    Meeting(
        name="handing in against embedding",
        actors={"A": documents.hand_in_with_key, "B": documents.embed_what_is_there},
        dying=("A", "B"),
    ),
    Meeting(
        name="merging against embedding",
        before=in_turn(_TWO_BATCHES, documents.embed()),
        actors={"A": documents.merge, "B": documents.embed(1)},
        dying=("A", "B"),
        most=300,
    ),
    Meeting(
        name="merging against a redelivery",
        before=in_turn(_TWO_BATCHES, documents.embed(), documents.embed(1)),
        actors={"A": documents.merge, "B": documents.embed()},
        most=300,
    ),
    Meeting(
        name="two merge vectors, one lapses",
        before=in_turn(_TWO_BATCHES, documents.embed(), documents.embed(1)),
        actors={"A": documents.merge, "B": documents.merge},
        time=LEASE_S_OF_COMPACTIONS + 3,
        dying=("A",),
        most=300,
    ),
    Meeting(
        name="a late vector against its dead letter",
        script=(ModelBusy, ModelBusy, None),
        before=in_turn(_HANDED_IN, documents.embed(), acts.wait(60), documents.take_documents, documents.embed(1)),
        actors={"A": documents.embed(1), "B": documents.bury_documents},
    ),
)
ALARM_RACES = (
    Meeting(
        name="an alarm is delivered twice",
        before=ALARM_IS_HERE,
        actors={"A": acts.ring, "B": acts.ring},
        dying=("A",),
    ),
    Meeting(
        name="an alarm against moving it",
        before=ALARM_IS_HERE,
        actors={"A": acts.ring, "B": acts.close_room(60)},
        dying=("A", "B"),
    ),
    Meeting(
        name="an alarm against who comes in",
        before=ALARM_IS_HERE,
        actors={"A": acts.ring, "B": acts.join("tom", "b")},
    ),
    Meeting(
        name="the sweeper against moving an alarm",
        before=in_turn(acts.close_room(1_000), acts.wait(990)),
        actors={"A": acts.sweep, "B": acts.close_room(2_000)},
        dying=("A", "B"),
    ),
    Meeting(
        name="the sweeper against an alarm",
        before=ALARM_IS_HERE,
        actors={"A": acts.sweep, "B": acts.ring},
    ),
)
RACES = (
    *TASK_RACES,
    *(replace(meeting, ends=NO_TASK) for meeting in (*WORKSHOP_RACES, *OBJECT_RACES, *EMBEDDING_RACES, *ALARM_RACES)),
)

CROWDS = (
    Meeting(
        name="three for the last seats, who gives back, and a change of capacity",
        before=_THREE_TAKEN,
        actors={
            "A": acts.reserve("first", seats=1),
            "B": in_turn(acts.reserve("second", seats=2), acts.give_back("second")),
            "C": in_turn(acts.give_back("others"), acts.reserve("first", seats=1)),
            "D": in_turn(acts.resize(3), acts.resize(6)),
        },
        ends=NO_TASK,
    ),
    Meeting(
        name="three take values, two of them by one command",
        actors={
            "A": in_turn(acts.next_value("a"), acts.next_value("c")),
            "B": in_turn(acts.next_value(), acts.next_value("a")),
            "C": in_turn(acts.next_value("c"), acts.next_value("a")),
        },
        ends=NO_TASK,
    ),
    Meeting(
        name="three submits under one key, and a worker",
        actors={
            "A": acts.submit_with_key,
            "B": acts.submit_with_key,
            "C": acts.submit_other_body,
            "W": acts.poll_and_deliver,
        },
        ends=("completed", ""),
    ),
    Meeting(
        name="two workers, a cancellation, and the clock",
        before=_TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver, "C": acts.cancel},
        time=CLAIM_S + 2,
        ends=("completed", "canceled", "failed"),
    ),
    Meeting(
        name="two workers, a busy model, a reader, and the clock",
        before=_TAKEN,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "B": acts.poll_and_deliver, "R": acts.read},
        time=CLAIM_S + 2,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="a last attempt, its rival, the dead letters, and the clock",
        before=_LAST_ATTEMPT,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "B": acts.deliver, "D": acts.bury_what_is_there},
        time=CLAIM_S + 2,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="the deadline: two readers, a worker, and the clock",
        before=in_turn(acts.submit, acts.wait(UNFINISHED_S - CLAIM_S / 2), acts.take),
        actors={"A": acts.deliver, "R": acts.read, "S": acts.read},
        time=CLAIM_S,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="a key used again: its old message, a worker, two submits",
        before=_OLD_MESSAGE,
        actors={
            "A": acts.deliver,
            "B": acts.submit_other_body,
            "C": acts.submit_with_key,
            "W": acts.poll_and_deliver,
        },
        ends=("completed",),
    ),
    Meeting(
        name="two reviewers, a cancellation, and the clock",
        before=IN_REVIEW,
        script=(ReplyUnreadable,),
        actors={
            "E": in_turn(acts.take_reviews("eve"), acts.judge("eve")),
            "M": in_turn(acts.take_reviews("mallory"), acts.judge("mallory")),
            "C": acts.cancel,
        },
        time=LEASE_S,
        ends=("completed", "canceled", "in_review"),
    ),
    Meeting(
        name="a dead letter, a late worker, a cancellation, a reader",
        before=in_turn(acts.submit, acts.take, acts.put_aside, acts.take_letters),
        actors={"A": acts.deliver, "D": acts.bury, "C": acts.cancel, "R": acts.read},
        ends=_ANY_END,
    ),
)

GUARDED_CROWDS = (
    Meeting(
        name="guarded: two workers, a third with another text, and the clock",
        before=_TAKEN,
        script=(None, BUSY_FOR_A_WHILE, None),
        actors={
            "A": acts.deliver,
            "B": acts.deliver,
            "C": in_turn(acts.submit_other_text, acts.poll_and_deliver),
        },
        time=CLAIM_S + 4,
        ends=("completed", "failed"),
    ),
)


def race_of(meeting: Meeting, lab: Lab) -> Race[Case]:
    """The meeting in a lab, as the scheduler wants it."""

    def setup() -> Case:
        case = lab.begin(script=meeting.script)
        meeting.before(lab, case, lab.aws)
        lab.observe()
        return case

    def judge(case: Case, outcomes: Outcomes) -> None:
        check(case)
        died = any(outcome.died for outcome in outcomes.values())
        if case.ended not in meeting.ends and not (died and case.ended in ("", "failed")):
            raise Broken(f"the task ended as {case.ended}")

    actors = {name: as_actor(lab, do) for name, do in meeting.actors.items()}
    if meeting.time:
        actors["T"] = time_passes(lambda _: lab.pass_time(meeting.time), label=f"{meeting.time:g} s pass")
    return Race(
        name=meeting.name,
        setup=setup,
        actors=actors,
        settle=lambda _: lab.rest(),
        invariant=judge,
        connect=lab.connect,
        keys=lambda _: lab.keys,
    )
