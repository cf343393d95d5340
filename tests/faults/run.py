"""Runs the whole lab, two parts of it at a time, and prints its table.

make faults [SCHEDULES=20000]
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.results import Results

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    ("test_interleavings.py",),
    ("test_crowds.py", "-k", "not guarded"),
    ("test_walks.py", "-k", "not guarded and not fallback"),
    ("test_walks.py", "-k", "guarded or fallback"),
    ("test_crowds.py", "-k", "guarded"),
    ("test_model.py",),
)
"""The longest first, so that the last ones end at about the same time."""
AT_ONCE = 2


def main() -> int:
    """0 if every promise was kept."""
    start_s = time.monotonic()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        saved = [Path(folder) / f"part-{number}.json" for number in range(len(PARTS))]
        with ThreadPoolExecutor(AT_ONCE) as places:
            codes = list(places.map(_run, PARTS, saved))
        for path in filter(Path.exists, saved):
            results.add_saved(path)
    print(f"\n{results.table()}\n\nin {time.monotonic() - start_s:.0f} s")  # noqa: T201 - a command's answer
    return max(codes)


def _run(part: tuple[str, ...], saved: Path) -> int:
    tests = [str(ROOT / "tests" / "faults" / name) if name.endswith(".py") else name for name in part]
    environ = {"SCHEDULES": "2000", **os.environ, "FAULT_RESULTS": str(saved)}
    # The rows of both are printed together at the end; here only what has failed.
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
