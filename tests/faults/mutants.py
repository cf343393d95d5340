"""Is the lab worth anything? Each deliberate fault is put into a copy of the code, and the lab must catch it.

    make mutants            # or: python -m tests.faults.mutants [part of a name]

Prints a table for the README; ends with 1 if a fault gets past the lab, or cannot be put in any more.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.mutations import MUTATIONS, Aim, Mutation

ROOT = Path(__file__).resolve().parents[2]
WHOLE: Aim = ("tests/faults/test_walks.py", "tests/faults/test_interleavings.py", "tests/faults/test_crowds.py")
MODEL: Aim = ("tests/faults/test_model.py",)
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "node_modules")
_AT_ONCE = 2
_LONGEST_S = 300
_HEADING = ("| fault | stands for | caught by | after |", "|---|---|---|---|")
_FAILED = re.compile(r"^FAILED \S+::(\S+?)(?:\[(.*)\])?(?: - .*)?$", re.MULTILINE)
_BROKEN = re.compile(r"(?:Broken|AssertionError|Error): (.*)")


class NotApplicable(Exception):
    """The text that a mutation changes is not there, or more than once."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a mutation; `caught_by` is empty where it got past the whole lab."""

    mutation: Mutation
    caught_by: str
    seconds: float

    def line(self) -> str:
        """A line of the table."""
        by = self.caught_by or "**nothing**"
        return f"| {self.mutation.name} | {self.mutation.stands_for} | {by} | {self.seconds:.0f} s |"


def judge(mutation: Mutation) -> Verdict:
    """Puts the fault into a copy of the code and lets the lab look for it, where it fits best first."""
    started_s = time.monotonic()
    with _mutated(mutation) as root:
        caught_by = next((found for aim in (mutation.aim, MODEL, WHOLE) if (found := _caught(root, aim))), "")
    return Verdict(mutation=mutation, caught_by=caught_by, seconds=time.monotonic() - started_s)


@contextmanager
def _mutated(mutation: Mutation) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        shutil.copytree(ROOT, root, ignore=_LEFT_OUT)
        apply(mutation, root=root)
        yield root


def apply(mutation: Mutation, *, root: Path) -> None:
    """Changes the text. Raises NotApplicable."""
    path = root / mutation.path
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise NotApplicable(
            f"{mutation.name}: the text to change is {text.count(mutation.old)} times in {mutation.path}"
        )
    path.write_text(text.replace(mutation.old, mutation.new))


def _caught(root: Path, aim: Aim) -> str:
    """The test that failed first, as a person would call it; "" where all passed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *aim]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400", "SCHEDULES": "2000", "FIRST_CATCH": "1"}
    try:
        ran = subprocess.run(
            command, cwd=root, env=environ, capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ""  # to be slow is not to have caught it
    failed = _FAILED.search(ran.stdout)
    if ran.returncode == 0:
        return ""
    if failed is None:
        raise NotApplicable(f"the lab did not run:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    broken = _BROKEN.findall(ran.stdout)
    return _told(failed, said=broken[-1] if broken else "")


def _told(failed: re.Match[str], *, said: str) -> str:
    test, case = failed.groups()
    where = f"`{test}`" + (f" ({case})" if case else "")
    return where + (f": {said}" if said else "")


def main(wanted: Sequence[str]) -> int:
    """Judges all faults, or those whose names hold one of these words."""
    chosen = [m for m in MUTATIONS if not wanted or any(word in m.name for word in wanted)]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        print(*_HEADING, sep="\n")  # noqa: T201 - a command answers
        verdicts = []
        for verdict in threads.map(judge, chosen):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)  # noqa: T201 - the same
    return int(any(not verdict.caught_by for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
