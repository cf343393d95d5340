"""Give credits to somebody: `make grant USER=ann CREDITS=100`; with `ID=welcome` once, however often it is called."""

import os
from uuid import uuid4

from isolane.errors import IsolaneError
from isolane.ledger import MOST_CREDITS, Ledger
from tests.environment.console import Problem, complain, say
from tests.environment.standing import state


def main() -> int:
    """Do what the environment's USER_NAME, CREDITS and GRANT_ID ask for."""
    try:
        owner, amount = _asked()
        grant_id = os.environ.get("GRANT_ID") or uuid4().hex
        balance = Ledger(state()).grant(owner, amount=amount, grant_id=grant_id)
        say(f"{owner} has {balance:,} credits now.")
    except (Problem, IsolaneError) as problem:
        return complain(problem if isinstance(problem, Problem) else Problem(problem.message))
    return 0


def _asked() -> tuple[str, int]:
    """Who gets how much."""
    owner, amount = os.environ.get("USER_NAME", ""), os.environ.get("CREDITS", "")
    if not owner or not amount:
        raise Problem("Say who gets how much: make grant USER=ann CREDITS=100")
    if not (amount.isascii() and amount.isdigit()) or len(amount) > len(str(MOST_CREDITS)):
        raise Problem(f"CREDITS is a whole number from 1 to {MOST_CREDITS:,}.")
    return owner, int(amount)


if __name__ == "__main__":
    raise SystemExit(main())
