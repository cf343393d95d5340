"""What processes and people do to documents and their vectors, in the lab."""

from contextlib import suppress

from isolane.errors import IsolaneError
from tests.faults.acts import Do
from tests.faults.case import OWNER, Answered, Case
from tests.faults.lab import Lab
from tests.faults.seat import Seat


def hand_in(which: int = 0) -> Do:
    """A caller hands in documents, without a key: the first texts of all, or others under the same ids."""
    return lambda _lab, case, seat: case.note(seat.embed(case, which=which))


def hand_in_with_key(_lab: Lab, case: Case, seat: Seat) -> Answered:
    """A caller hands in documents under the case's key."""
    return case.note(seat.embed(case, key=case.key))


def take_documents(lab: Lab, case: Case, _seat: Seat) -> None:
    """Lambda's poller receives the documents that there are; a worker gets them later."""
    lab.observe()
    case.taken.append(lab.receive_documents())


def embed(number: int = 0) -> Do:
    """A worker gets the documents that were taken the n-th time."""
    return lambda _lab, case, seat: seat.work_on_documents(case.taken[number])


def embed_what_is_there(lab: Lab, _case: Case, seat: Seat) -> None:
    """The poller looks once, and a worker gets what it found."""
    seat.work_on_documents(lab.receive_documents())


def bury_documents(lab: Lab, _case: Case, seat: Seat) -> None:
    """The function behind the dead-letter queue gets the documents that lie there."""
    seat.bury_documents(lab.receive_dead_documents())


def merge(_lab: Lab, _case: Case, seat: Seat) -> None:
    """What the sweeper does for the owner of the documents; who meets another leaves it for the next minute."""
    with suppress(IsolaneError):
        seat.app.bindings.compactions.perform({"pk": "compactions", "sk": OWNER, "asked": "lately"})


def merge_after_its_lease(_lab: Lab, _case: Case, seat: Seat) -> None:
    """A merge whose lease has lapsed: only its conditions keep it and another apart."""
    with suppress(IsolaneError):
        seat.app.bindings.compactions.vectors.compact(OWNER)
