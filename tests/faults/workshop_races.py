"""Who meets whom over the seats of a workshop."""

from tests.faults import acts
from tests.faults.acts import in_turn
from tests.faults.meeting import Meeting

THREE_TAKEN = acts.reserve("others", seats=3)

WORKSHOP_RACES = (
    Meeting(
        name="two reserve the last seat",
        before=THREE_TAKEN,
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
        before=THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.reserve("first", seats=2)},
        dying=("A",),
    ),
    Meeting(
        name="one request is sent twice with other seats",
        actors={"A": acts.reserve("first"), "B": acts.reserve("first", seats=2)},
    ),
    Meeting(
        name="reserve against giving back",
        before=THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.give_back("others")},
        dying=("A", "B"),
    ),
    Meeting(
        name="a request sent twice against giving back",
        before=THREE_TAKEN,
        actors={
            "A": in_turn(acts.reserve("first", seats=2), acts.reserve("first", seats=2)),
            "B": acts.give_back("others"),
        },
    ),
    Meeting(
        name="two give the same seats back",
        before=THREE_TAKEN,
        actors={"A": acts.give_back("others"), "B": acts.give_back("others")},
        dying=("A",),
    ),
    Meeting(
        name="reserve against a smaller capacity",
        before=THREE_TAKEN,
        actors={"A": acts.reserve("first"), "B": acts.resize(3)},
        dying=("A", "B"),
    ),
    Meeting(
        name="reserve against a larger capacity",
        before=THREE_TAKEN,
        actors={"A": acts.reserve("first", seats=2), "B": acts.resize(5)},
    ),
    Meeting(
        name="reserve in a new workshop against its first capacity",
        actors={"A": acts.reserve("first", seats=2), "B": acts.resize(1)},
    ),
    Meeting(
        name="giving back against a smaller capacity",
        before=THREE_TAKEN,
        actors={"A": acts.give_back("others"), "B": acts.resize(1)},
    ),
)
