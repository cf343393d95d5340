"""What every test stands on: no way to a real account, and the local stack for those that ask for it."""

import os
import uuid
from collections.abc import Callable, Iterator

import hypothesis
import pytest

from isolane.aws.table import Table
from isolane.callers import Callers
from tests.e2e.client import Client
from tests.environment import clients, emulator
from tests.environment.console import Problem
from tests.environment.deploy import Deployment, deploy
from tests.environment.dynamodb_local import DynamoDbLocal, missing, running
from tests.environment.places import endpoint
from tests.environment.up import up

# Made-up keys, a region and nobody's profile: a client made by mistake fails instead of reaching an account. Nothing
# above has made a client yet, as importing does nothing here.
os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "POWERTOOLS_SERVICE_NAME": "isolane",
        "POWERTOOLS_METRICS_NAMESPACE": "isolane",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }
)

# A machine may be busy: how long an example takes says nothing about the code.
hypothesis.settings.register_profile(
    "isolane", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("isolane")


def pytest_report_header() -> str:
    """Say which AWS the tests will use."""
    url = endpoint()
    try:
        found = emulator.find(url)
    except Problem as problem:
        return f"AWS: {problem}"
    return f"AWS: {found or f'nothing answers at {url} yet; MiniStack will, once it is asked for'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests come first: they are the fastest to fail, and forbid sockets, which nobody else may be using then."""
    items.sort(key=lambda item: "unit" not in item.path.parts)


@pytest.fixture(scope="session")
def emulator_url() -> str:
    """The local AWS, started where nothing answers."""
    return up().url


@pytest.fixture(scope="session")
def deployment() -> Deployment:
    """The application, deployed to the local AWS."""
    return deploy(up())


@pytest.fixture(scope="session")
def api(deployment: Deployment) -> Client:
    """A caller without a token, whom the local stack takes for `local`."""
    return Client(base_url=deployment.api_url)


@pytest.fixture(scope="session")
def stranger(deployment: Deployment) -> Callable[..., Client]:
    """Makes a caller with a name of its own, or this one, and a token."""
    callers = Callers(Table(clients.dynamodb(deployment.emulator.url), deployment.outputs["StateTableName"]))

    def make(*roles: str, name: str | None = None) -> Client:
        token = callers.issue(name or f"user-{uuid.uuid4().hex[:8]}", roles=roles or ("user",))
        return Client(base_url=deployment.api_url, token=token)

    return make


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[DynamoDbLocal]:
    """AWS's own emulator of DynamoDB, in memory."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with running() as started:
        yield started
