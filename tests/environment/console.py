"""What the environment's commands say to the person who typed them."""

import os
import sys
from collections.abc import Callable


class Problem(Exception):
    """Something that the person can mend; its message is all that is shown."""


def say(line: str = "") -> None:
    """Write one line to the terminal at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(command: Callable[[], None]) -> int:
    """Run a command and return its exit status: 0, 1 with a sentence for a Problem, 130 if the person broke it off."""
    try:
        command()
    except Problem as problem:
        return complain(problem)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read it has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def complain(problem: Problem) -> int:
    """Say what is wrong where errors belong, and return the exit status for it."""
    sys.stderr.write(f"{problem}\n")
    return 1
