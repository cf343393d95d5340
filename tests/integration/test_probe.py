"""The probe runs before what rests on it, and says of the default emulator that it can prove all of it."""

import pytest

from tests.environment import emulator
from tests.environment.probe import PROBES, Finding

pytest_plugins = ["tests.environment.findings"]


@pytest.mark.parametrize("name", PROBES)
def test_the_default_emulator_does_what_aws_does(name: str, findings: dict[str, Finding], emulator_url: str) -> None:
    found = emulator.find(emulator_url)
    if found is None or found.name != "ministack":
        pytest.skip(f"{found} is not the default emulator; the table at the end says what it can prove")
    assert findings[name].holds, findings[name].seen
