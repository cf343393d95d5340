"""Runs the whole lab, in two processes side by side, and prints its table.

make faults [SCHEDULES=20000]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.results import Results

ROOT = Path(__file__).resolve().parents[2]
PARTS = (("test_walks.py", "test_interleavings.py"), ("test_crowds.py", "test_model.py"))
"""Of about the same length."""


def main() -> int:
    """0 if every promise was kept."""
    start_s = time.monotonic()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        saved = [Path(folder) / f"part-{number}.json" for number in range(len(PARTS))]
        running = [_started(part, path) for part, path in zip(PARTS, saved, strict=True)]
        codes = [process.wait() for process in running]
        for path in filter(Path.exists, saved):
            results.add_saved(path)
    print(f"\n{results.table()}\n\nin {time.monotonic() - start_s:.0f} s")  # noqa: T201 - a command's answer
    return max(codes)


def _started(part: tuple[str, ...], saved: Path) -> "subprocess.Popen[bytes]":
    tests = [str(ROOT / "tests" / "faults" / name) for name in part]
    environ = {"SCHEDULES": "2000", **os.environ, "FAULT_RESULTS": str(saved)}
    # The rows of both are printed together at the end; here only what has failed.
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    return subprocess.Popen(command, cwd=ROOT, env=environ)


if __name__ == "__main__":
    sys.exit(main())
