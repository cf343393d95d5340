"""What the emulator in use can prove, found out by trying; `python -m tests.environment.probe` prints it as a table.

Tests that prove something only where the emulator is truthful about it ask for a finding first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.environment import probe_functions, probe_queues, probe_tables
from tests.environment.console import run, say
from tests.environment.emulator import Emulator
from tests.environment.up import up
from tests.waiting import WaitedTooLong


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that AWS does: its name, whether this emulator does it too, and what was seen."""

    name: str
    holds: bool
    seen: str


PROBES: dict[str, Callable[[str], str]] = {
    "one winner of 50": probe_tables.one_winner,
    "no seat too many": probe_tables.no_seat_too_many,
    "reasons of a canceled transaction": probe_tables.reasons,
    "message delay": probe_queues.delay,
    "changed visibility": probe_queues.visibility,
    "partial batch failures": probe_functions.partial_failures,
    "parallel batches": probe_functions.parallel,
}
"""Each raises AssertionError, in words, where the emulator differs from AWS, and else returns what it saw."""


def probe(url: str, *, names: Iterable[str] = PROBES) -> list[Finding]:
    """Try each thing on the emulator, one after another, for they would slow each other down."""
    return [_finding(name, PROBES[name], url=url) for name in names]


def _finding(name: str, attempt: Callable[[str], str], *, url: str) -> Finding:
    """What one probe found."""
    try:
        return Finding(name=name, holds=True, seen=attempt(url))
    except (AssertionError, WaitedTooLong) as difference:
        return Finding(name=name, holds=False, seen=str(difference))


def table(emulator: Emulator, *, findings: Iterable[Finding]) -> str:
    """The findings as a person reads them."""
    rows = [f"  {'yes' if found.holds else 'NO':<4} {found.name:<34} {found.seen}" for found in findings]
    return "\n".join([f"What {emulator} can prove:", *rows])


def main() -> None:
    """Probe whatever answers, and print what was found."""
    emulator = up()
    say(table(emulator, findings=probe(emulator.url)))


if __name__ == "__main__":
    raise SystemExit(run(main))
