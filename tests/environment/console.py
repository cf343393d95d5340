"""What the environment's commands say to the person who typed them."""

import sys


class Problem(Exception):
    """Something that the person can mend; its message is all that is shown."""


def say(line: str = "") -> None:
    """Write one line to the terminal at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(problem: Problem) -> int:
    """Say what is wrong where errors belong, and return the exit status for it."""
    sys.stderr.write(f"{problem}\n")
    return 1
