"""Packages from npm that are used as they are: fetched once, unpacked, and kept in this checkout's cache."""

import shutil
import subprocess
from pathlib import Path

from tests.environment.console import Problem

FETCH_TIMEOUT_S = 300


def fetched(package: str, *, cache: Path) -> Path:
    """The package's folder."""
    folder = cache / "package"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        ["npm", "pack", "--silent", package],
        cwd=cache,
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_TIMEOUT_S,
    )
    if ended.returncode != 0:
        raise Problem(f"npm could not fetch {package}: {ended.stderr.strip()}")
    return _unpacked(cache / ended.stdout.split()[-1], folder=folder)


def _unpacked(archive: Path, *, folder: Path) -> Path:
    """Unpack beside its final place, and move it there whole, so that an interruption leaves nothing half made."""
    half = archive.parent / "half"
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(half)], check=True)
    (half / "package").rename(folder)
    half.rmdir()
    archive.unlink()
    return folder
