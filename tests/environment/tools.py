"""Tools beside the checkout that make what cannot be pulled where they lie; nobody else needs them."""

import os
import subprocess
from pathlib import Path

from tests.environment.console import Problem, say
from tests.environment.places import ROOT


def tool(name: str) -> Path | None:
    """The tool of that name in ISOLANE_TOOLS, else in ../shared/tools; None if there is none."""
    folder = Path(os.environ.get("ISOLANE_TOOLS") or ROOT.parent / "shared" / "tools")
    found = folder / name
    return found if found.is_file() else None


def use(path: Path, *arguments: str, **variables: str) -> str:
    """Run it, with these variables too, and return what it prints; what it says on the way goes to the terminal."""
    say(f"{path} {' '.join(arguments)}".rstrip())
    ended = subprocess.run(
        [str(path), *arguments],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise Problem(f"{path} failed, as it says above.")
    return ended.stdout.strip()
