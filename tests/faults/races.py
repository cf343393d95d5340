"""Who meets whom: the races of two that are tried in every order, and the crowds of three and four at random.

All of them end alike: what is left is delivered until nothing moves, and then the invariants hold.
"""

from dataclasses import replace

from isolane.model_errors import ModelBusy, ReplyUnreadable
from isolane.reviews import LEASE_S
from isolane.task import UNFINISHED_S
from tests.faults import acts
from tests.faults.acts import in_turn
from tests.faults.case import CLAIM_S
from tests.faults.embedding_races import EMBEDDING_RACES
from tests.faults.flows import BUSY_FOR_A_WHILE, IN_REVIEW, NO_TASK
from tests.faults.image_crowds import IMAGE_CROWDS
from tests.faults.image_races import IMAGE_RACES
from tests.faults.meeting import Meeting
from tests.faults.object_races import ALARM_RACES, OBJECT_RACES
from tests.faults.task_races import _ANY_END, LAST_ATTEMPT, OLD_MESSAGE, TAKEN, TASK_RACES
from tests.faults.workshop_races import THREE_TAKEN, WORKSHOP_RACES

RACES = (
    *TASK_RACES,
    *(replace(meeting, ends=NO_TASK) for meeting in (*WORKSHOP_RACES, *OBJECT_RACES, *EMBEDDING_RACES, *ALARM_RACES)),
    *IMAGE_RACES,
)

CROWDS = (
    Meeting(
        name="three for the last seats, who gives back, and a change of capacity",
        before=THREE_TAKEN,
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
        before=TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver, "C": acts.cancel},
        time=CLAIM_S + 2,
        ends=("completed", "canceled", "failed"),
    ),
    Meeting(
        name="two workers, a busy model, a reader, and the clock",
        before=TAKEN,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "B": acts.poll_and_deliver, "R": acts.read},
        time=CLAIM_S + 2,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="a last attempt, its rival, the dead letters, and the clock",
        before=LAST_ATTEMPT,
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
        before=OLD_MESSAGE,
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
    *IMAGE_CROWDS,
)

GUARDED_CROWDS = (
    Meeting(
        name="guarded: two workers, a third with another text, and the clock",
        before=TAKEN,
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
