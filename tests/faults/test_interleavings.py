"""Two of the product's processes, in every order of their calls that can differ: and the promises are kept."""

import pytest

from tests.faults.lab import Lab
from tests.faults.meeting import Meeting, race_of
from tests.faults.races import RACES
from tests.faults.results import Results
from tests.faults.schedule import explore, thorough
from tests.faults.task_races import GUARDED_RACES

DEPTH = 8
"""Steps of each actor whose order is tried: six calls, the beginning, and the question to the model."""
MOST_GUARDED = 500
"""Both want one permit, so that hardly any two of their calls commute."""


@pytest.mark.parametrize("meeting", RACES, ids=lambda meeting: meeting.name)
def test_in_every_order_the_promises_are_kept(meeting: Meeting, lab: Lab, results: Results) -> None:
    dying, limit = (meeting.dying, meeting.most) if thorough() else ((), meeting.few)
    report = explore(race_of(meeting, lab), depth=DEPTH, dying=dying, limit=limit)
    results.add(report.row())
    report.check()


@pytest.mark.parametrize("meeting", GUARDED_RACES, ids=lambda meeting: meeting.name)
def test_in_every_order_before_a_guarded_model(meeting: Meeting, guarded_lab: Lab, results: Results) -> None:
    limit = MOST_GUARDED if thorough() else 20
    dying = meeting.dying if thorough() else ()
    report = explore(race_of(meeting, guarded_lab), depth=DEPTH, dying=dying, limit=limit)
    results.add(report.row())
    report.check()
