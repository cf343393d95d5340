"""The functions' logs: `make logs`, `make logs FUNCTION=ScoringWorker`, `make logs FOLLOW=1`."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from tests.environment import clients, emulator, stack
from tests.environment.console import Problem, run, say
from tests.environment.places import endpoint

LOOK_EVERY_S = 1.0


def log_groups(url: str, *, function: str | None) -> dict[str, str]:
    """Each function's log group, by the function's logical name; of one function only, if one is named."""
    names = stack.physical_names(url, kind="AWS::Lambda::Function")
    if function is not None and function not in names:
        raise Problem(f"There is no function {function}; there are {', '.join(sorted(names))}.")
    lambda_ = clients.functions(url)
    return {
        logical: lambda_.get_function_configuration(FunctionName=physical)["LoggingConfig"]["LogGroup"]
        for logical, physical in names.items()
        if function in {None, logical}
    }


def lines(url: str, *, group: str, since_ms: int) -> Iterator[tuple[int, str]]:
    """A group's lines from a moment on, each with its time in ms."""
    logs = clients.logs(url)
    try:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since_ms):
            for event in page["events"]:
                yield event["timestamp"], event["message"].rstrip()
    except logs.exceptions.ResourceNotFoundException:
        return  # a function that never ran has written nothing


def show(url: str, *, function: str | None, follow: bool) -> None:
    """Print what was logged, oldest first, and go on as it comes if asked to follow."""
    groups = log_groups(url, function=function)
    seen: dict[str, int] = dict.fromkeys(groups, 0)
    while True:
        fresh = [
            (at_ms, name, line)
            for name, group in groups.items()
            for at_ms, line in lines(url, group=group, since_ms=seen[name])
        ]
        for at_ms, name, line in sorted(fresh):
            say(f"{name:<14} {line}")
            seen[name] = at_ms + 1
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
