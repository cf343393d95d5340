"""Who is calling, on every backend."""

from __future__ import annotations

import pytest

from isolane.callers import LOCAL, Caller
from isolane.errors import InvalidRequest, NotFound
from tests.world import World


def test_a_token_is_its_callers(world: World) -> None:
    callers = world.callers()
    token = callers.issue("ann", roles=["user", "reviewer"])
    assert callers.identify(f"Bearer {token}") == Caller(name="ann", roles=frozenset({"user", "reviewer"}))
    assert callers.identify(f"bearer  {token} ") is not None


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", "wrong"])
def test_anything_else_is_nobody(world: World, header: str | None) -> None:
    assert world.callers().identify(header) is None


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic YTpi"])
def test_where_none_is_needed_only_a_caller_without_a_token_is_local(world: World, header: str) -> None:
    callers = world.callers(allow_anonymous=True)
    assert callers.identify(None) is LOCAL
    assert callers.identify(header) is None


def test_a_revoked_token_is_nobodys_within_a_minute(world: World) -> None:
    callers = world.callers()
    token = callers.issue("ann", roles=["user"])
    assert callers.identify(f"Bearer {token}") is not None
    callers.revoke(token)
    assert world.callers().identify(f"Bearer {token}") is None, "at once, where it was not known yet"
    world.clock.advance(60)
    assert callers.identify(f"Bearer {token}") is None


def test_a_token_of_nobodys_cannot_be_revoked(world: World) -> None:
    with pytest.raises(NotFound):
        world.callers().revoke("isolane_mistyped")


def test_the_token_itself_is_not_stored(world: World) -> None:
    token = world.callers().issue("ann", roles=["admin"])
    stored = world.client("dynamodb").scan(TableName=world.state.name)["Items"]
    assert token not in str(stored)
    assert token.removeprefix("isolane_") not in str(stored)


@pytest.mark.parametrize("roles", [[], ["king"], ["user", "king"]])
def test_a_role_is_one_that_there_is(world: World, roles: list[str]) -> None:
    with pytest.raises(InvalidRequest):
        world.callers().issue("ann", roles=roles)
