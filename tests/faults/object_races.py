"""Who meets whom over a named object, and over its alarm."""

from tests.faults import acts
from tests.faults.acts import in_turn
from tests.faults.flows import ALARM_IS_HERE
from tests.faults.meeting import Meeting

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
