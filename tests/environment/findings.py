"""For pytest: the probe's findings, a way to ask for one, and the table at the end of a run that probed."""

from collections.abc import Callable

import pytest

from tests.environment import emulator
from tests.environment.console import Problem
from tests.environment.probe import Finding, probe, table

TABLE = pytest.StashKey[str]()
PROBED_BY = "tests/integration/test_probe.py"


@pytest.fixture(scope="session")
def findings(emulator_url: str, request: pytest.FixtureRequest) -> dict[str, Finding]:
    """What the emulator in use can prove, by name, found out once a run."""
    found = probe(emulator_url)
    running = emulator.find(emulator_url)
    if running is None:
        raise Problem(f"The emulator at {emulator_url} went away while it was probed.")
    request.config.stash[TABLE] = table(running, findings=found)
    return {finding.name: finding for finding in found}


@pytest.fixture
def needs(findings: dict[str, Finding]) -> Callable[[str], None]:
    """Leaves the test out, by name and with what was seen, where the emulator cannot prove what it needs."""

    def need(name: str) -> None:
        if not findings[name].holds:
            pytest.skip(f"the emulator cannot prove {name!r}: {findings[name].seen}")

    return need


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The probe's own tests come first, before what rests on its findings."""
    items.sort(key=lambda item: not item.nodeid.startswith(PROBED_BY))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what the emulator was and what it could prove."""
    if TABLE in config.stash:
        terminalreporter.section("the local AWS")
        terminalreporter.write_line(config.stash[TABLE])
