"""The invariants, each once, in words and in code: what holds at rest, whatever went wrong on the way.

    check(case)                        # all of PROMISES
    check(case, promises=[*PROMISES, another])

A promise is a function that takes the evidence of a case (every change of every row in order, every call to the model,
every answer that reached a caller) and raises `Broken`. Each system has a file of them; a later one adds its own here,
and its tables to the lab.
"""

from collections.abc import Callable, Iterable

from tests.faults import (
    control_promises,
    embedding_promises,
    image_promises,
    object_promises,
    task_promises,
    workshop_promises,
)
from tests.faults.case import Case

Promise = Callable[[Case], None]

PROMISES: tuple[Promise, ...] = (
    *task_promises.PROMISES,
    *control_promises.PROMISES,
    *workshop_promises.PROMISES,
    *object_promises.PROMISES,
    *embedding_promises.PROMISES,
    *image_promises.PROMISES,
)


def check(case: Case, *, promises: Iterable[Promise] = PROMISES) -> None:
    """Raises the first promise that was not kept."""
    for promise in promises:
        promise(case)
