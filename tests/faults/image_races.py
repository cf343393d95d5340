"""Who meets whom over pictures and credits: pollers, the sweepers, callers, an admin and the clock."""

from isolane.model_errors import ModelBusy
from isolane.task import PAID_RESULT_S
from tests.doubles.scripted_provider import MADE, NOT_MADE, WAITING, WORKING
from tests.faults import acts
from tests.faults import image_acts as pictures
from tests.faults.acts import in_turn
from tests.faults.flows import NO_TASK
from tests.faults.image_flows import AT_WORK, HAND_OVER_S, LOOK_S, NOT_HANDED_OVER, ORDERED, SLOT_S, START_S, SWEEP_S
from tests.faults.image_moves import FINISH_S
from tests.faults.meeting import Meeting

_MOST, _FEW = 80, 5
"""Where time passes, or a sweeper runs, each order takes many calls."""

IMAGE_RACES = (
    Meeting(
        name="two poll one picture",
        before=in_turn(pictures.provider(WORKING, MADE), ORDERED),
        actors={"A": pictures.poll, "B": pictures.poll},
        dying=("A",),
    ),
    Meeting(
        name="two poll one picture, a slot lapses",
        before=in_turn(pictures.provider(MADE), ORDERED),
        actors={"A": pictures.poll, "B": pictures.poll},
        time=SLOT_S,
        dying=("A",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="two hand one picture over to one who heeds no keys",
        before=in_turn(
            pictures.provider(WORKING, MADE, submits=(ModelBusy(), None), heeds_keys=False),
            pictures.grant(),
            pictures.order,
            acts.wait(HAND_OVER_S),
        ),
        actors={"A": pictures.poll, "B": pictures.poll},
        time=SLOT_S,
        dying=("A",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="two see that a picture has begun",
        before=in_turn(pictures.provider(WORKING, WORKING, MADE), ORDERED),
        actors={"A": pictures.poll, "B": pictures.poll},
        time=SLOT_S,
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="poll against the sweeper",
        before=in_turn(pictures.provider(MADE), ORDERED, acts.wait(SWEEP_S)),
        actors={"A": pictures.poll, "S": pictures.sweep},
        dying=("A", "S"),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="poll what was not made against the sweeper, a slot lapses",
        before=in_turn(pictures.provider(NOT_MADE), ORDERED, acts.wait(SWEEP_S)),
        actors={"A": pictures.poll, "S": pictures.sweep},
        time=SLOT_S,
        ends=("failed",),
        dying=("A", "S"),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="cancel against the completion of a picture",
        before=in_turn(pictures.provider(MADE), ORDERED),
        actors={"A": pictures.poll, "C": acts.cancel},
        ends=("completed", "canceled"),
        dying=("A", "C"),
    ),
    Meeting(
        name="cancel against the beginning of a picture",
        before=in_turn(pictures.provider(WORKING, MADE), ORDERED),
        actors={"A": pictures.poll, "C": acts.cancel},
        ends=("canceled",),
    ),
    Meeting(
        name="cancel against the failure of a picture",
        before=in_turn(pictures.provider(NOT_MADE), ORDERED),
        actors={"A": pictures.poll, "C": acts.cancel},
        ends=("failed", "canceled"),
        dying=("A", "C"),
    ),
    Meeting(
        name="cancel against handing over",
        before=in_turn(NOT_HANDED_OVER, pictures.provider(WORKING, submits=(None,))),
        actors={"A": pictures.poll, "C": acts.cancel},
        ends=("canceled",),
        dying=("C",),
    ),
    Meeting(
        name="two cancel one picture",
        before=in_turn(pictures.provider(WORKING), AT_WORK),
        actors={"C": acts.cancel, "D": acts.cancel},
        ends=("canceled",),
        dying=("C",),
    ),
    Meeting(
        name="two order on one credit",
        before=pictures.grant(1),
        actors={"A": pictures.order, "B": pictures.order_another},
        dying=("A",),
    ),
    Meeting(
        name="two order under one key",
        before=pictures.grant(1),
        actors={"A": pictures.order_with_key, "B": pictures.order_with_key},
        dying=("A",),
    ),
    Meeting(
        name="two order under one key, other prompt",
        before=pictures.grant(),
        actors={"A": pictures.order_with_key, "B": pictures.order_another_with_key},
    ),
    Meeting(
        name="a time-out against the completion of a picture",
        before=in_turn(pictures.provider(MADE), ORDERED, acts.wait(START_S - SLOT_S - 1)),
        actors={"A": pictures.poll, "R": pictures.history},
        time=SLOT_S,
        ends=("completed", "failed"),
        dying=("A", "R"),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="a time-out against the beginning of a picture",
        before=in_turn(pictures.provider(WORKING, MADE), ORDERED, acts.wait(START_S - SLOT_S - 1)),
        actors={"A": pictures.poll, "R": pictures.poll},
        time=SLOT_S,
        ends=("completed", "failed"),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="a time-out against handing over",
        before=in_turn(
            pictures.provider(WAITING, submits=(ModelBusy(), None)),
            pictures.grant(),
            pictures.order,
            acts.wait(START_S - 1),
        ),
        actors={"A": pictures.poll, "R": pictures.history},
        time=SLOT_S,
        ends=("failed",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="two sweepers, one picture is late",
        before=in_turn(pictures.provider(WORKING), AT_WORK, acts.wait(FINISH_S)),
        actors={"S": pictures.sweep, "T2": pictures.sweep},
        ends=("failed",),
        dying=("S",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="two sweepers look at what was paid back",
        before=in_turn(pictures.provider(WORKING, MADE), AT_WORK, acts.cancel, acts.wait(LOOK_S)),
        actors={"S": pictures.sweep, "T2": pictures.sweep},
        ends=("canceled",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="one grant is made twice",
        actors={"A": pictures.grant(), "B": pictures.grant()},
        ends=NO_TASK,
        dying=("A",),
    ),
    Meeting(
        name="a grant against an order",
        actors={"A": pictures.grant(1), "B": pictures.order},
        ends=("completed", ""),
        dying=("A", "B"),
    ),
    Meeting(
        name="a refund against a new charge",
        before=in_turn(pictures.provider(NOT_MADE), pictures.grant(1), pictures.order, acts.wait(SLOT_S)),
        actors={"A": pictures.poll, "B": pictures.order_another},
        ends=("failed",),
        dying=("A", "B"),
    ),
    Meeting(
        name="a late failure against its key used again",
        before=in_turn(pictures.provider(NOT_MADE), pictures.grant(), pictures.order_with_key, acts.wait(SLOT_S)),
        actors={
            "A": pictures.poll,
            "B": in_turn(acts.cancel, acts.wait(PAID_RESULT_S), pictures.order_another_with_key),
        },
        ends=("failed",),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="a late success against its key used again",
        before=in_turn(pictures.grant(), pictures.order_with_key, acts.wait(SLOT_S)),
        actors={
            "A": pictures.poll,
            "B": in_turn(acts.cancel, acts.wait(PAID_RESULT_S), pictures.order_another_with_key, acts.cancel),
        },
        ends=("completed", "canceled"),
        most=_MOST,
        few=_FEW,
    ),
    Meeting(
        name="a late look against its key used again",
        before=in_turn(
            pictures.provider(WORKING, MADE),
            pictures.grant(),
            pictures.order_with_key,
            acts.wait(SLOT_S),
            pictures.poll,
            acts.cancel,
            acts.wait(PAID_RESULT_S),
        ),
        actors={"S": pictures.sweep, "B": in_turn(pictures.order_another_with_key, acts.cancel)},
        ends=("canceled",),
        most=_MOST,
        few=_FEW,
    ),
)
