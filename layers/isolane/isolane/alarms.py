"""How the alarms of objects come to ring: by a delayed message where that is soon, else by the sweeper.

SQS delays a message by 15 minutes at the most. So an alarm within that is one message, sent right after the commit that
has set it; one beyond lies in an index by its time, from which a sweeper takes it. The same sweeper heals a crash
between commit and message: it sends every alarm that comes near once more. A message too many is no harm: it says for
which time it is, and rings only where the object's alarm is still at that time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from isolane.aws.queue import Queue
from isolane.aws.table import Table
from isolane.errors import ConditionFailed, Contended, InvalidRequest, Unavailable
from isolane.json_edge import dumps
from isolane.observability import logger

# The clause of the condition, with the race that it closes.

STILL_AT_THAT_TIME = "#alarm_at_ms = :at_ms"
"""An alarm that is moved while the sweeper sends it: the new one must stay where the sweeper finds it."""

BY_DUE = "by-due"
DUE = "alarms"
LONGEST_DELAY_S = 900
NEAR_S = 120
"""How long before its time the sweeper sends an alarm; twice the time between two sweeps."""
MOST_RETRIES = 6
FIRST_RETRY_S = 2
_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """An object's alarm, as it was set."""

    kind: str
    """The name of the object's class."""
    name: str
    at_ms: int
    """When it rings, in milliseconds since 1970."""
    retries: int = 0
    """How often it was tried again."""

    def left_s(self, *, now_ms: int) -> int:
        """Whole seconds until its time, rounded up, so that it never rings early; 0 once that has come."""
        return max(0, math.ceil((self.at_ms - now_ms) / 1000))

    def again(self) -> Alarm | None:
        """The next try, after one that failed; None where it was the last."""
        return replace(self, retries=self.retries + 1) if self.retries < MOST_RETRIES else None

    @property
    def pause_s(self) -> int:
        """Seconds before this try: 2, 4, 8, … of one that is tried again."""
        return FIRST_RETRY_S * 2 ** (self.retries - 1) if self.retries else 0


def fields_of(alarm_at_ms: int | None) -> dict[str, Any]:
    """What an object's row says of its alarm; without one it is not in the index."""
    if alarm_at_ms is None:
        return {}
    return {"alarm_at_ms": alarm_at_ms, "due": DUE, "due_at": math.ceil(alarm_at_ms / 1000)}


def to_body(alarm: Alarm) -> str:
    return dumps({"kind": alarm.kind, "name": alarm.name, "atMs": alarm.at_ms, "retries": alarm.retries})


def from_body(body: Mapping[str, Any]) -> Alarm:
    """The alarm of a message. Raises InvalidRequest for any other."""
    kind, name, at_ms, retries = (body.get(field) for field in ("kind", "name", "atMs", "retries"))
    if isinstance(kind, str) and isinstance(name, str) and type(at_ms) is int and type(retries) is int:
        return Alarm(kind=kind, name=name, at_ms=at_ms, retries=retries)
    raise InvalidRequest("This is not the message of an alarm.")


@dataclass(frozen=True)
class Alarms:
    """The way of all alarms of a deployment: the rows of objects (State), and a queue."""

    table: Table
    queue: Callable[[], Queue]
    """Asked for when there is an alarm to send: most changes have none, and a client takes its time to be made."""

    def wind(self, alarm: Alarm, *, now_ms: int) -> None:
        """Sends the alarm's message where it is soon; where that fails, says so, and leaves it to the sweeper."""
        if alarm.left_s(now_ms=now_ms) > LONGEST_DELAY_S:
            return
        try:
            self.send(alarm, now_ms=now_ms)
        except Unavailable as error:
            logger().warning("alarm not sent", extra={"object": alarm.name, "error": type(error).__name__})

    def send(self, alarm: Alarm, *, now_ms: int) -> None:
        """Sends the alarm's message, to be seen at its time, and after its pause where it is tried again."""
        self.queue().send(to_body(alarm), delay_s=max(alarm.left_s(now_ms=now_ms), alarm.pause_s))

    def near(self, *, now_ms: int) -> Iterator[Mapping[str, Any]]:
        """The keys of objects whose alarms come near, or are late: what a sweeper has to send."""
        page, values = None, {"due": DUE, "until": now_ms // 1000 + NEAR_S}
        while page is None or page.after is not None:
            after = page.after if page is not None else None
            page = self.table.query(
                "#due = :due AND #due_at <= :until", index=BY_DUE, values=values, limit=_PAGE, after=after
            )
            yield from page.items

    def send_near(self, item: Mapping[str, Any], *, now_ms: int) -> None:
        """Sends the alarm of an object that was found near, and takes it out of the index.

        In this order: a crash between the two sends it twice, which is no harm.
        """
        key = {"pk": item["pk"], "sk": item["sk"]}
        row = self.table.get(key)
        if row is None or row.get("due") != DUE or row["due_at"] > now_ms // 1000 + NEAR_S:
            return
        _, kind, name = row["pk"].split("#", 2)
        alarm = Alarm(kind=kind, name=name, at_ms=row["alarm_at_ms"])
        self.send(alarm, now_ms=now_ms)
        try:
            self.table.update(
                key,
                "REMOVE #due, #due_at",
                when=STILL_AT_THAT_TIME,
                values={"at_ms": alarm.at_ms},
                returns="NONE",
            )
        except (ConditionFailed, Contended):
            return  # it was moved meanwhile, and stays where the sweeper finds it
