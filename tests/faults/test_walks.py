"""The product dies, is refused, and is not answered, at every call of every flow; and keeps its promises."""

from collections.abc import Sequence

import pytest

from tests.faults.case import CLAIM_S
from tests.faults.crash_walk import ANSWERS, CONFLICTS, DEATHS, LOST_ANSWERS, REFUSALS, crash_walk, empty_pages
from tests.faults.faults import Delay, Fault, LoseAnswer
from tests.faults.flows import DELIVERIES, FALLBACKS, FLOWS, GUARDED, ProductFlow, Walk
from tests.faults.image_flows import IMAGES, IMAGES_AT_LENGTH
from tests.faults.lab import Lab
from tests.faults.results import Results
from tests.faults.schedule import thorough
from tests.faults.task_promises import nothing_was_wasted


def faults(lab: Lab) -> Sequence[Fault]:
    """All that can befall a call; what does not fit it is left out by the walk."""
    if not thorough():
        return (*DEATHS, LoseAnswer(how="timeout", retry=False), *CONFLICTS, *empty_pages())
    slow = Delay(seconds=CLAIM_S + 2, pass_time=lab.pass_time)
    return (*DEATHS, *LOST_ANSWERS, *REFUSALS, *CONFLICTS, *ANSWERS, *empty_pages(), slow)


@pytest.mark.parametrize(
    "flow", [*FLOWS, *IMAGES, *(IMAGES_AT_LENGTH if thorough() else ())], ids=lambda flow: flow.name
)
def test_whatever_befalls_a_call_the_promises_are_kept(flow: ProductFlow, lab: Lab, results: Results) -> None:
    report = crash_walk(Walk(flow=flow, lab=lab, name=flow.name), faults=faults(lab), keys=lambda _: lab.keys)
    results.add(report.row())
    report.check()


@pytest.mark.parametrize("flow", GUARDED, ids=lambda flow: flow.name)
def test_whatever_befalls_a_call_before_a_guarded_model(flow: ProductFlow, guarded_lab: Lab, results: Results) -> None:
    walk = Walk(flow=flow, lab=guarded_lab, name=flow.name)
    report = crash_walk(walk, faults=faults(guarded_lab), keys=lambda _: guarded_lab.keys)
    results.add(report.row())
    report.check()


@pytest.mark.parametrize("flow", FALLBACKS, ids=lambda flow: flow.name)
def test_whatever_befalls_a_call_of_a_chain(flow: ProductFlow, fallback_lab: Lab, results: Results) -> None:
    walk = Walk(flow=flow, lab=fallback_lab, name=flow.name)
    report = crash_walk(walk, faults=faults(fallback_lab), keys=lambda _: fallback_lab.keys)
    results.add(report.row())
    report.check()


@pytest.mark.parametrize("flow", DELIVERIES, ids=lambda flow: flow.name)
def test_an_answer_that_is_lost_and_asked_for_again_costs_no_attempt(flow: ProductFlow, lab: Lab) -> None:
    walk = Walk(flow=flow, lab=lab, name=flow.name, more=nothing_was_wasted)
    crash_walk(walk, faults=[LoseAnswer(how="timeout", retry=True)]).check()
