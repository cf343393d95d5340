"""The flows of pictures and credits, for the crash walk; what is due afterwards, the sweeper does, until nothing is."""

from images.provider import NoPicture
from isolane.errors import Unreachable
from isolane.model_errors import ModelBusy
from isolane.task import PAID_RESULT_S
from tests.doubles.scripted_provider import MADE, NOT_MADE, REFUSED, UNKNOWN, WAITING, WORKING, made
from tests.faults import acts
from tests.faults import image_acts as pictures
from tests.faults.acts import in_turn
from tests.faults.flows import NO_TASK, ProductFlow
from tests.faults.image_moves import FINISH_S

START_S = 600
"""ImageStartSeconds."""
HAND_OVER_S = 12
"""How long nobody else hands over what has just been charged."""
SLOT_S = 2
SWEEP_S = 30
LOOK_S = 60

ORDERED = in_turn(pictures.grant(), pictures.order, acts.wait(SLOT_S))
AT_WORK = in_turn(ORDERED, pictures.poll, acts.wait(SLOT_S))
"""With a provider that says so once."""
NOT_HANDED_OVER = in_turn(
    pictures.provider(MADE, submits=(ModelBusy(), None)), pictures.grant(), pictures.order, acts.wait(HAND_OVER_S)
)
"""Whoever has paid could not hand it over, as where its process died."""
_LATER = in_turn(acts.wait(SLOT_S), pictures.poll)
_ANY_END = ("completed", "failed")

ORDERS = (
    ProductFlow(name="order a picture", before=pictures.grant(), life=pictures.order, after=pictures.order),
    ProductFlow(
        name="order a picture with a key, credits for one",
        before=pictures.grant(1),
        life=pictures.order_with_key,
        after=pictures.order_with_key,
    ),
    ProductFlow(name="order a picture, too few credits", life=pictures.order, after=pictures.order, ends=NO_TASK),
    ProductFlow(
        name="order a picture that is refused",
        before=in_turn(pictures.provider(submits=(NoPicture(REFUSED),)), pictures.grant()),
        life=pictures.order,
        ends=("failed", ""),
    ),
    ProductFlow(
        name="order a picture, key used again after expiry",
        before=in_turn(
            pictures.grant(),
            pictures.order_with_key,
            acts.cancel,
            acts.wait(LOOK_S),
            pictures.sweep,
            acts.wait(PAID_RESULT_S),
        ),
        life=pictures.order_another_with_key,
        after=pictures.order_another_with_key,
    ),
)
POLLS = (
    ProductFlow(
        name="poll a picture to its end",
        before=in_turn(pictures.provider(WORKING, MADE), ORDERED),
        life=in_turn(pictures.poll, acts.wait(SLOT_S), pictures.poll),
        after=_LATER,
    ),
    ProductFlow(name="poll what was not handed over", before=NOT_HANDED_OVER, life=pictures.poll, after=_LATER),
    ProductFlow(
        name="poll what was not made",
        before=in_turn(pictures.provider(NOT_MADE), ORDERED),
        life=pictures.poll,
        after=_LATER,
        ends=("failed",),
    ),
    ProductFlow(
        name="poll what was not started in time",
        before=in_turn(pictures.provider(WAITING), ORDERED, acts.wait(START_S)),
        life=pictures.poll,
        after=pictures.poll,
        ends=("failed",),
    ),
)
SWEEPS = (
    ProductFlow(
        name="sweep a picture",
        before=in_turn(ORDERED, acts.wait(SWEEP_S)),
        life=pictures.sweep,
    ),
    ProductFlow(
        name="sweep what was not finished in time",
        before=in_turn(pictures.provider(WORKING), AT_WORK, acts.wait(FINISH_S)),
        life=pictures.sweep,
        after=pictures.sweep,
        ends=("failed",),
    ),
    ProductFlow(
        name="sweep what was made after its refund",
        before=in_turn(pictures.provider(WORKING, MADE), AT_WORK, acts.cancel, acts.wait(LOOK_S)),
        life=pictures.sweep,
        ends=("canceled",),
    ),
)
CALLERS = (
    ProductFlow(
        name="cancel a picture",
        before=in_turn(pictures.provider(WORKING), AT_WORK),
        life=acts.cancel,
        after=acts.cancel,
        ends=("canceled",),
    ),
    ProductFlow(
        name="look at all pictures, one of them late",
        before=in_turn(
            pictures.provider(MADE),
            ORDERED,
            acts.wait(START_S),
            pictures.order_another,
        ),
        life=pictures.history,
        after=pictures.history,
        ends=("failed",),
    ),
    ProductFlow(name="grant credits", life=pictures.grant(), after=pictures.grant(), ends=NO_TASK),
)
IMAGES = (*ORDERS, *POLLS, *SWEEPS, *CALLERS)

IMAGES_AT_LENGTH = (
    ProductFlow(
        name="order a picture of one who heeds no keys",
        before=in_turn(pictures.provider(WORKING, MADE, heeds_keys=False), pictures.grant()),
        life=pictures.order_with_key,
        after=in_turn(pictures.order_with_key, acts.wait(HAND_OVER_S), pictures.poll),
    ),
    ProductFlow(
        name="poll what is no picture",
        before=in_turn(pictures.provider(made(b"<html>")), ORDERED),
        life=pictures.poll,
        after=_LATER,
        ends=("failed",),
    ),
    ProductFlow(
        name="poll what cannot be fetched at first",
        before=in_turn(pictures.provider(made(Unreachable()), MADE), ORDERED),
        life=in_turn(pictures.poll, acts.wait(SLOT_S), pictures.poll),
        after=_LATER,
    ),
    ProductFlow(
        name="poll what the provider has lost",
        before=in_turn(pictures.provider(UNKNOWN), ORDERED, acts.wait(15)),
        life=pictures.poll,
        after=_LATER,
        ends=("failed",),
    ),
    ProductFlow(
        name="sweep two, one of them not handed over",
        before=in_turn(
            pictures.provider(MADE, submits=(None, ModelBusy(), None)),
            ORDERED,
            pictures.order_another,
            acts.wait(SWEEP_S),
        ),
        life=pictures.sweep,
    ),
    ProductFlow(
        name="sweep what is still made after its refund",
        before=in_turn(pictures.provider(WORKING), AT_WORK, acts.cancel, acts.wait(LOOK_S)),
        life=in_turn(pictures.sweep, acts.wait(LOOK_S), pictures.sweep),
        ends=("canceled",),
    ),
)
"""For `make faults`: each is a variant of another."""
