"""One hash over everything that a deployment is made from, so that nothing is built or deployed twice."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.environment.places import ROOT

MADE_FROM = (
    "template.yaml",
    "functions",
    "layers/isolane",
    "tests/environment/adapt.py",
    "tests/environment/build.py",
    "tests/environment/deploy.py",
)
LEFT_OUT = {"__pycache__", "isolane.egg-info", "build"}


def fingerprint(parameters: Mapping[str, str], *, target: str, root: Path = ROOT) -> str:
    """A hash of the template, the code, the layer, the parameters and the kind of emulator: 64 hex digits."""
    total = hashlib.sha256(json.dumps([target, sorted(parameters.items())]).encode())
    for path in _files(root):
        total.update(f"{path.relative_to(root).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _files(root: Path) -> Iterable[Path]:
    """Each file that matters, in one order."""
    found = (path for name in MADE_FROM for path in _inside(root / name))
    return sorted(path for path in found if not LEFT_OUT.intersection(path.relative_to(root).parts))


def _inside(path: Path) -> Iterable[Path]:
    """The file itself, or the files in the folder."""
    return (found for found in path.rglob("*") if found.is_file()) if path.is_dir() else (path,)
