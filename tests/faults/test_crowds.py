"""Three and four of the product's processes, and the clock, in orders drawn at random: and the promises are kept."""

import pytest

from tests.faults.lab import Lab
from tests.faults.meeting import Meeting, race_of
from tests.faults.races import CROWDS, GUARDED_CROWDS
from tests.faults.results import Results
from tests.faults.schedule import random_schedules, replay, share

SEED = 20_261_129


@pytest.mark.parametrize("meeting", CROWDS, ids=lambda meeting: meeting.name)
def test_in_any_order_the_promises_are_kept(meeting: Meeting, lab: Lab, results: Results) -> None:
    report = random_schedules(race_of(meeting, lab), n=share(2_000 // len(CROWDS) + 1), seed=SEED, deaths=0.3)
    results.add(report.row())
    report.check()


@pytest.mark.parametrize("meeting", GUARDED_CROWDS, ids=lambda meeting: meeting.name)
def test_in_any_order_before_a_guarded_model(meeting: Meeting, guarded_lab: Lab, results: Results) -> None:
    report = random_schedules(race_of(meeting, guarded_lab), n=share(286), seed=SEED, deaths=0.3)
    results.add(report.row())
    report.check()


KEPT = (("two workers, a busy model, a reader, and the clock", "A T A B B B B B B R R A A A"),)
"""Orders that once broke a promise. The first: a worker whose claim had lapsed completed nothing, and deleted the
message of a task that another worker had given back."""


@pytest.mark.parametrize(("name", "choices"), KEPT)
def test_an_order_that_once_broke_a_promise_does_not_any_more(name: str, choices: str, lab: Lab) -> None:
    meeting = next(each for each in CROWDS if each.name == name)
    replay(race_of(meeting, lab), choices).check()
