"""Three and four of the product's processes, and the clock, in orders drawn at random: and the promises are kept."""

import pytest

from tests.faults.lab import Lab
from tests.faults.races import CROWDS, Meeting, race_of
from tests.faults.results import Results
from tests.faults.schedule import random_schedules, share

SEED = 20_261_129


@pytest.mark.parametrize("meeting", CROWDS, ids=lambda meeting: meeting.name)
def test_in_any_order_the_promises_are_kept(meeting: Meeting, lab: Lab, results: Results) -> None:
    report = random_schedules(race_of(meeting, lab), n=share(2_000 // len(CROWDS) + 1), seed=SEED, deaths=0.3)
    results.add(report.row())
    report.check()
