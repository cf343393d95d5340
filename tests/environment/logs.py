"""The functions' logs: `make logs`, `make logs FUNCTION=ScoringWorker`, `make logs FOLLOW=1`."""

import operator
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.environment import clients, emulator, stack
from tests.environment.console import Problem, run, say
from tests.environment.places import STACK_NAME, endpoint

LOOK_EVERY_S = 1.0


def log_groups(url: str, *, function: str | None = None, stack_name: str = STACK_NAME) -> dict[str, str]:
    """Each function's log group, by the function's logical name; of one function only, if one is named."""
    names = stack.physical_names(url, kind="AWS::Lambda::Function", name=stack_name)
    if function is not None and function not in names:
        raise Problem(f"There is no function {function}; there are {', '.join(sorted(names))}.")
    lambda_ = clients.functions(url)
    return {
        logical: lambda_.get_function_configuration(FunctionName=physical)["LoggingConfig"]["LogGroup"]
        for logical, physical in names.items()
        if function in {None, logical}
    }


@dataclass
class Followed:
    """A function's log group, and which of its lines were told."""

    name: str
    group: str
    since_ms: int = 0
    told: set[str] = field(default_factory=set)
    """The ids of the lines of that very millisecond: more of them may come."""

    def fresh(self, url: str) -> Iterator[tuple[int, str]]:
        """The lines that were not told yet, each with its time in ms."""
        for at_ms, line_id, line in lines(url, group=self.group, since_ms=self.since_ms):
            if line_id not in self.told:
                self._note(at_ms, line_id)
                yield at_ms, f"{self.name:<14} {line}"

    def _note(self, at_ms: int, line_id: str) -> None:
        if at_ms > self.since_ms:
            self.since_ms, self.told = at_ms, set()
        self.told.add(line_id)


def lines(url: str, *, group: str, since_ms: int = 0) -> Iterator[tuple[int, str, str]]:
    """A group's lines from a moment on, each with its time in ms and its id."""
    logs = clients.logs(url)
    try:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since_ms):
            for event in page["events"]:
                yield event["timestamp"], _id_of(event), event["message"].rstrip()
    except logs.exceptions.ResourceNotFoundException:
        return  # a function that never ran has written nothing


def _id_of(event: Any) -> str:
    """An event's own id; an emulator may give none."""
    return str(event.get("eventId") or f"{event.get('logStreamName')} {event['timestamp']} {event['message']}")


def show(url: str, *, function: str | None, follow: bool) -> None:
    """Print what was logged, oldest first, and go on as it comes if asked to follow."""
    groups = [Followed(name, group) for name, group in log_groups(url, function=function).items()]
    while True:
        fresh = [found for followed in groups for found in followed.fresh(url)]
        for _, line in sorted(fresh, key=operator.itemgetter(0)):  # by time alone: a sort leaves the rest in its order
            say(line)
        if not follow:
            return
        time.sleep(LOOK_EVERY_S)


def main() -> None:
    """Show what FUNCTION and FOLLOW in the environment ask for."""
    url = endpoint()
    if emulator.find(url) is None or stack.find(url) is None:
        raise Problem("Nothing is deployed yet: run `make up` first.")
    with suppress(KeyboardInterrupt):  # it is how one stops following
        show(url, function=os.environ.get("FUNCTION") or None, follow=bool(os.environ.get("FOLLOW")))


if __name__ == "__main__":
    raise SystemExit(run(main))
