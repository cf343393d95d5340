"""The layer as `sam build` made it."""

from pathlib import Path

import pytest

from tests.environment.deploy import Deployment
from tests.environment.places import BUILT

MEGABYTE = 1_000_000


@pytest.fixture
def layer(deployment: Deployment) -> list[Path]:
    """The layer's files."""
    return [path for path in (BUILT / "IsolaneLayer" / "python").rglob("*") if path.is_file()]


def test_it_is_pure_python_and_nobodys_leftovers(layer: list[Path]) -> None:
    assert {path.suffix for path in layer} & {".so", ".pyd", ".dylib", ".pyc"} == set()


def test_it_is_small(layer: list[Path]) -> None:
    assert sum(path.stat().st_size for path in layer) < 15 * MEGABYTE


def test_it_holds_the_library_and_what_that_needs_but_not_what_the_runtime_brings(layer: list[Path]) -> None:
    packages = {path.relative_to(BUILT / "IsolaneLayer" / "python").parts[0] for path in layer}
    assert {"isolane", "aws_lambda_powertools"} <= packages
    assert not packages & {"boto3", "botocore", "urllib3", "tests"}
