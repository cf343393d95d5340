"""What callers, the sweeper and an admin do about pictures and credits, in the lab."""

from collections.abc import Sequence

from isolane.errors import OutgoingError
from tests.doubles.scripted_provider import Stage
from tests.faults.acts import Do
from tests.faults.case import PRICE, Answered, Case
from tests.faults.lab import Lab
from tests.faults.seat import Seat


def provider(*stages: Stage, submits: Sequence[OutgoingError | None] = (None,), heeds_keys: bool = True) -> Do:
    """The provider goes through these stages, for this case."""

    def tell(_lab: Lab, case: Case, _seat: Seat) -> None:
        case.provider.stages, case.provider.submits = stages, submits
        case.provider.heeds_keys = heeds_keys

    return tell


def grant(pictures: int = 2, *, grant_id: str = "welcome") -> Do:
    """An admin grants credits for so many pictures."""
    return lambda _lab, _case, seat: seat.grant(pictures * PRICE, grant_id=grant_id)


def order(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller orders a picture, without a key."""
    return case.note(seat.order(case.texts[0]))


def order_with_key(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller orders a picture under the case's key."""
    return case.note(seat.order(case.texts[0], key=case.key))


def order_another(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller orders another picture, without a key."""
    return case.note(seat.order(case.texts[1]))


def order_another_with_key(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller orders another picture under the case's key."""
    return case.note(seat.order(case.texts[1], key=case.key))


def poll(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """Its owner asks for the picture."""
    return case.note(seat.picture(case.task_id))


def history(_lab: Lab, case: Case, seat: Seat) -> None:
    """Its owner looks at all pictures, and at the credits that are left."""
    case.note(seat.pictures())
    case.note(seat.credits())


def sweep(_lab: Lab, _case: Case, seat: Seat) -> None:
    """The sweeper of pictures runs."""
    seat.sweep_pictures()
