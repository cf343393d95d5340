"""Four who meet over pictures and credits, and the clock."""

from isolane.model_errors import ModelBusy
from tests.doubles.scripted_provider import MADE, NOT_MADE, WORKING
from tests.faults import acts
from tests.faults import image_acts as pictures
from tests.faults.acts import in_turn
from tests.faults.image_flows import SLOT_S, START_S, SWEEP_S
from tests.faults.meeting import Meeting

IMAGE_CROWDS = (
    Meeting(
        name="two pollers, the sweeper, a cancellation, and the clock",
        before=in_turn(pictures.provider(WORKING, MADE), pictures.grant(3), pictures.order, acts.wait(SWEEP_S)),
        actors={
            "A": in_turn(pictures.poll, pictures.order_another, pictures.poll),
            "B": in_turn(pictures.poll, pictures.poll),
            "S": pictures.sweep,
            "C": acts.cancel,
        },
        time=SLOT_S,
        ends=("completed", "canceled"),
    ),
    Meeting(
        name="three orders for two pictures, failures, the sweeper, and the clock",
        before=in_turn(pictures.provider(NOT_MADE), pictures.grant(2), pictures.order, acts.wait(SLOT_S)),
        actors={
            "A": in_turn(pictures.order_another, pictures.poll),
            "B": in_turn(pictures.poll, pictures.order_with_key),
            "C": in_turn(pictures.order_with_key, pictures.history),
            "S": pictures.sweep,
        },
        time=SWEEP_S,
        ends=("failed",),
    ),
    Meeting(
        name="the deadline of a picture: pollers, a reader, a cancellation, and the clock",
        before=in_turn(
            pictures.provider(WORKING, MADE, submits=(ModelBusy(), None)),
            pictures.grant(),
            pictures.order,
            acts.wait(START_S - SLOT_S),
        ),
        actors={
            "A": in_turn(pictures.poll, pictures.poll),
            "R": pictures.history,
            "S": pictures.sweep,
            "C": acts.cancel,
        },
        time=SLOT_S,
        ends=("completed", "failed", "canceled"),
    ),
)
