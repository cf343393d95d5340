"""The probe runs before what rests on it: an emulator can prove all that AWS does, but for what is known to lack."""

import pytest

from tests.environment import emulator
from tests.environment.probe import PROBES, Finding

pytest_plugins = ["tests.environment.findings"]

LACKING = {("localstack", "parallel batches"): "LocalStack works off one batch of a queue after another"}


@pytest.mark.parametrize("name", PROBES)
def test_the_emulator_does_what_aws_does(name: str, findings: dict[str, Finding], emulator_url: str) -> None:
    found = emulator.find(emulator_url)
    assert found is not None
    if (found.name, name) in LACKING:
        pytest.skip(LACKING[found.name, name])
    assert findings[name].holds, findings[name].seen
