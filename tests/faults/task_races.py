"""Who meets whom over a task: workers, callers, readers, reviewers, the dead letters and the clock."""

from isolane.model_errors import ModelBusy, ReplyUnreadable
from isolane.reviews import LEASE_S
from isolane.task import RESULT_S, UNFINISHED_S, UNREVIEWED_S
from tests.faults import acts
from tests.faults.acts import in_turn
from tests.faults.case import CLAIM_S
from tests.faults.flows import BUSY_FOR_A_WHILE, IN_REVIEW
from tests.faults.meeting import Meeting

TAKEN = in_turn(acts.submit, acts.take)
LAST_ATTEMPT = in_turn(acts.submit, acts.take, acts.deliver, acts.wait(CLAIM_S), acts.take)
OLD_MESSAGE = in_turn(acts.submit_with_key, acts.take, acts.cancel, acts.wait(RESULT_S))
_ANY_END = ("completed", "failed", "canceled")

TASK_RACES = (
    Meeting(
        name="two deliveries of one message",
        before=TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
        dying=("A",),
    ),
    Meeting(
        name="two claims, one lapses",
        before=TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
        time=CLAIM_S + 2,
    ),
    Meeting(
        name="cancel against a delivery",
        before=TAKEN,
        actors={"A": acts.deliver, "C": acts.cancel},
        ends=("completed", "canceled"),
        dying=("A", "C"),
    ),
    Meeting(
        name="cancel against giving back",
        before=TAKEN,
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
        before=LAST_ATTEMPT,
        script=(ModelBusy, None),
        actors={"A": acts.deliver, "B": in_turn(acts.deliver, acts.bury_what_is_there)},
        time=CLAIM_S + 2,
        ends=("completed", "failed"),
    ),
    Meeting(
        name="giving up against a late review",
        before=LAST_ATTEMPT,
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
        before=OLD_MESSAGE,
        actors={"A": acts.deliver, "B": acts.submit_other_body},
        ends=("completed", "canceled"),
        dying=("B",),
    ),
    Meeting(
        name="a key used again against a reader of the old",
        before=OLD_MESSAGE,
        actors={"R": acts.read, "B": acts.submit_other_body},
        ends=("completed", "canceled"),
    ),
)

GUARDED_RACES = (
    Meeting(
        name="guarded: two deliveries of one message",
        before=TAKEN,
        actors={"A": acts.deliver, "B": acts.deliver},
    ),
    Meeting(
        name="guarded: two messages, one permit",
        before=TAKEN,
        actors={"A": acts.deliver, "B": in_turn(acts.submit_other_text, acts.poll_and_deliver)},
    ),
    Meeting(
        name="guarded: two deliveries, the model says when to come again",
        before=TAKEN,
        script=(BUSY_FOR_A_WHILE, None),
        actors={"A": acts.deliver, "B": acts.deliver},
        ends=("completed", "failed"),
    ),
    Meeting(
        name="guarded: two equal texts",
        before=TAKEN,
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
