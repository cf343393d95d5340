"""Make a token for a caller of the deployed API, or take one back: `make token USER=ann ROLE=user`, `REVOKE=…`."""

import os

from isolane.callers import Callers
from isolane.errors import IsolaneError
from tests.environment.console import Problem, complain, say
from tests.environment.standing import state


def main() -> int:
    """Do what the environment's USER and ROLE, or REVOKE, ask for."""
    try:
        callers = Callers(state())
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


if __name__ == "__main__":
    raise SystemExit(main())
