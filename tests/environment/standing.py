"""The State table of the deployed stack, for what is done to it by hand."""

from isolane.aws.table import Table
from tests.environment import clients, emulator, stack
from tests.environment.console import Problem
from tests.environment.places import endpoint


def state() -> Table:
    """The table of the stack that stands at the endpoint. Raises Problem where there is none."""
    url = endpoint()
    if emulator.find(url) is None:
        raise Problem(f"Nothing answers at {url}: run make up first.")
    standing = stack.find(url)
    if standing is None or not standing.stands:
        raise Problem("There is no stack yet: run make up first.")
    return Table(clients.dynamodb(url), standing.outputs["StateTableName"])
