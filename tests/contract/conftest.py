"""The same tests on every backend: moto in process, AWS's own DynamoDB Local, and the emulator of the local stack."""

import functools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from moto import mock_aws

from tests.environment import clients
from tests.environment.dynamodb_local import DynamoDbLocal
from tests.world import World


@pytest.fixture(scope="session")
def dynamodb_local_url(dynamodb_local: DynamoDbLocal) -> str:
    return dynamodb_local.url


def _lend(backend: str, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    made: dict[str, Any] = {}
    make: Any = clients.session().client  # the service is a variable here, which the stubs do not foresee
    place: dict[str, Any] = {"config": clients.CONFIG}
    if backend != "moto":
        place["endpoint_url"] = request.getfixturevalue(f"{backend.replace('-', '_')}_url")
    with mock_aws() if backend == "moto" else nullcontext():
        yield lambda service: made.setdefault(service, make(service, **place))


@pytest.fixture(params=["moto", "dynamodb-local", "emulator"])
def client(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """Makes clients for the backend."""
    yield from _lend(request.param, request)


@pytest.fixture(params=["moto", "emulator"])
def whole_client(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """The same, on backends that have queues and buckets, too."""
    yield from _lend(request.param, request)


@pytest.fixture
def atomic(request: pytest.FixtureRequest) -> None:
    """For races: moto checks a condition and writes in two steps, so that two can win there."""
    if "moto" in request.node.callspec.params.values():
        pytest.skip("moto's conditional writes are not atomic under threads; the other backends' are")


@pytest.fixture
def world(client: Callable[[str], Any]) -> Iterator[World]:
    world = World(client)
    world.make_tables()
    yield world
    world.remove_tables()


@pytest.fixture
def moto_world() -> Iterator[World]:
    """For what is the same on every backend, such as the number of calls."""
    with mock_aws():
        make: Any = clients.session().client  # as above
        world = World(functools.cache(lambda service: make(service, config=clients.CONFIG)))
        world.make_tables()
        yield world


@pytest.fixture
def whole_world(whole_client: Callable[[str], Any]) -> Iterator[World]:
    world = World(whole_client)
    world.make_tables()
    yield world
    world.remove_tables()
