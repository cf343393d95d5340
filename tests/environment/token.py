"""Make a token for a caller of the deployed API, or take one back: `make token USER=ann ROLE=user`, `REVOKE=…`."""

import os

from isolane.aws.table import Table
from isolane.callers import Callers
from isolane.errors import IsolaneError
from tests.environment import clients, emulator, stack
from tests.environment.console import Problem, complain, say
from tests.environment.places import endpoint


def main() -> int:
    """Do what the environment's USER and ROLE, or REVOKE, ask for."""
    try:
        callers = Callers(_state())
        if os.environ.get("REVOKE"):
            callers.revoke(os.environ["REVOKE"])
            say("It is nobody's now, everywhere within 60 seconds.")
        else:
            say(_issued(callers))
    except (Problem, IsolaneError) as problem:
        return complain(problem if isinstance(problem, Problem) else Problem(problem.message))
    return 0


def _issued(callers: Callers) -> str:
    name, roles = os.environ.get("USER_NAME", ""), os.environ.get("ROLE") or "user"
    if not name:
        raise Problem("Say who it is for: make token USER=ann ROLE=user")
    return callers.issue(name, roles=roles.split(","))


def _state() -> Table:
    url = endpoint()
    if emulator.find(url) is None:
        raise Problem(f"Nothing answers at {url}: run make up first.")
    standing = stack.find(url)
    if standing is None or not standing.stands:
        raise Problem("There is no stack yet: run make up first.")
    return Table(clients.dynamodb(url), standing.outputs["StateTableName"])


if __name__ == "__main__":
    raise SystemExit(main())
