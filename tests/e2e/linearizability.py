"""Whether what clients saw can have happened one after the other: a checker for the seats of one workshop.

A history is linearizable if each call can be given a moment between its beginning and its end, such that the calls,
done one after the other in the order of these moments, give the answers that were seen. The search follows Wing and
Gong ("Testing and Verifying Concurrent Objects", 1993) with Lowe's memory of states; what only looks at the seats is
done as soon as it can be, which loses nothing, so that only the order of what changes them is tried.

Standard library only, like `verify.py`, which uses it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

MOST_STATES = 200_000
"""Orders that do not lead on are many; a history for which so many were tried in vain is not told to be good."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call and what its client saw of it, in seconds of one clock."""

    kind: str
    """`reserve` or `cancel`."""
    request_id: str
    seats: int
    began_s: float
    ended_s: float
    outcome: str
    """`accepted`, `rejected`, `canceled`, `not_found`; or "", where nobody knows whether it was done."""
    replayed: bool = False
    reserved: int | None = None
    """The seats that were reserved at some moment of the call, after what it did."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened at one moment from `from_s` to `to_s`."""

    name: str
    from_s: float
    to_s: float
    taken: int = 0
    """Seats; less than 0 are given back. 0 where it only looks."""
    after: str | None = None
    """The event that has happened before."""
    before: str | None = None
    """The event that has not."""
    reserved: int | None = None
    """How many seats must have been reserved at that moment, where that was seen."""
    too_few_for: int | None = None
    """How many seats must not have been free at that moment."""


@dataclass(frozen=True)
class _State:
    """Where a search stands: the events that may come next, the first of the others, and what the past has left."""

    open: tuple[int, ...] = ()
    next: int = 0
    reserved: int = 0
    happened: frozenset[str] = frozenset()


def problems(history: Sequence[Call], *, capacity: int) -> list[str]:
    """What speaks against the history; nothing where all of it can have happened one after the other."""
    by_id = {key: list(calls) for key, calls in groupby(sorted(history, key=_request_id), key=_request_id)}
    found = [problem for calls in by_id.values() for problem in _of_one_request(calls)]
    found += [
        f"{call.request_id}: {call.reserved} of {capacity} seats reserved"
        for call in history
        if call.reserved is not None and not 0 <= call.reserved <= capacity
    ]
    return found or _out_of_order(_events(by_id), capacity=capacity)


def _request_id(call: Call) -> str:
    return call.request_id


def _of_one_request(calls: Sequence[Call]) -> Iterator[str]:
    """A request has one decision, told as new once, by a call that can have made it."""
    decided = [call for call in calls if call.outcome in ("accepted", "rejected")]
    name = calls[0].request_id
    if len({call.outcome for call in decided}) > 1:
        yield f"{name}: both accepted and rejected"
    if sum(not call.replayed for call in decided) > 1:
        yield f"{name}: decided twice"
    if decided and all(call.replayed for call in decided) and not _unknown(calls, "reserve"):
        yield f"{name}: replayed, and never decided"
    if any(call.outcome == "canceled" for call in calls) and not any(call.outcome == "accepted" for call in decided):
        yield f"{name}: canceled, and never accepted"


def _unknown(calls: Sequence[Call], kind: str) -> list[Call]:
    return [call for call in calls if call.kind == kind and not call.outcome]


def _events(by_id: Mapping[str, Sequence[Call]]) -> list[Event]:
    events = [event for calls in by_id.values() for event in _events_of(calls)]
    return sorted(events, key=lambda event: event.from_s)


def _events_of(calls: Sequence[Call]) -> Iterator[Event]:
    """The moments of one request: its decision, its cancellation, and what its answers have seen of the seats."""
    decided = [call for call in calls if call.outcome in ("accepted", "rejected")]
    canceled = [call for call in calls if call.outcome == "canceled"]
    decision = cancellation = None
    if decided:
        deciding = [call for call in decided if not call.replayed] or _unknown(calls, "reserve")
        decision = _decision(decided[0], from_s=_first(deciding), to_s=_soonest(decided))
        yield decision
    if canceled:
        trying = [*canceled, *_unknown(calls, "cancel")]
        cancellation = Event(
            name=f"cancel {calls[0].request_id}",
            from_s=_first(trying),
            to_s=_soonest(canceled),
            taken=-decided[0].seats,
            after=decision.name if decision is not None else None,
        )
        yield cancellation
    for call in calls:
        yield from _seen(call, decision=decision, cancellation=cancellation)


def _first(calls: Sequence[Call]) -> float:
    return min(call.began_s for call in calls)


def _soonest(calls: Sequence[Call]) -> float:
    return min(call.ended_s for call in calls)


def _decision(call: Call, *, from_s: float, to_s: float) -> Event:
    event = Event(name=f"decide {call.request_id}", from_s=from_s, to_s=to_s)
    return replace(event, taken=call.seats) if call.outcome == "accepted" else replace(event, too_few_for=call.seats)


def _seen(call: Call, *, decision: Event | None, cancellation: Event | None) -> Iterator[Event]:
    """What an answer says of the seats, at a moment after what the call itself did."""
    looked = Event(name=f"look {call.request_id}", from_s=call.began_s, to_s=call.ended_s)
    done = cancellation if call.kind == "cancel" else decision
    if call.reserved is not None:
        # Who was rejected has seen the seats that were too few, or those that there were later.
        after = None if call.outcome == "rejected" and not call.replayed else done
        yield replace(looked, reserved=call.reserved, after=after.name if after is not None else None)
    if call.outcome == "not_found" and decision is not None and decision.taken:
        yield replace(looked, before=decision.name)


def _out_of_order(events: Sequence[Event], *, capacity: int) -> list[str]:
    search = _Search(events, capacity=capacity)
    return [] if search.succeeds() else [search.told()]


@dataclass(frozen=True)
class _Coming:
    """Changes that have not happened yet, by when they may begin, with what they add up to."""

    from_s: list[float]
    sums: list[int]

    @classmethod
    def of(cls, changes: Sequence[Event], state: _State) -> _Coming:
        coming = [change for change in changes if change.name not in state.happened]
        return cls([change.from_s for change in coming], [0, *accumulate(change.taken for change in coming)])

    @property
    def first_s(self) -> float:
        return self.from_s[0] if self.from_s else float("inf")

    def until(self, moment_s: float) -> int:
        return self.sums[bisect_right(self.from_s, moment_s)]


def _seen_by(look: Event) -> int:
    return look.reserved if look.reserved is not None else 0


class _Search:
    """Depth first, through the orders of what changes the seats."""

    def __init__(self, events: Sequence[Event], *, capacity: int) -> None:
        self._events = events
        self._capacity = capacity
        self._takes = [event for event in events if event.taken > 0]
        self._gives = [event for event in events if event.taken < 0]
        self._taken = {event.name: event.taken for event in events}
        self._saw = {look.after: look.reserved for look in sorted(events, key=lambda look: -look.to_s) if look.reserved}
        self._furthest = _State()
        self._states = 0

    def succeeds(self) -> bool:
        seen: set[tuple[int, tuple[int, ...]]] = set()
        waiting = [self._settled(_State())]
        while waiting and self._states < MOST_STATES:
            state = waiting.pop()
            self._states += 1
            if not state.open and state.next == len(self._events):
                return True
            self._furthest = max(self._furthest, state, key=lambda it: it.next - len(it.open))
            for following in self._following(state):
                mark = following.next, following.open
                if mark not in seen:
                    seen.add(mark)
                    waiting.append(following)
        return False

    def told(self) -> str:
        state = self._furthest
        done = state.next - len(state.open)
        stuck = min((self._events[number] for number in state.open), key=lambda event: event.to_s, default=None)
        name = stuck.name if stuck is not None else "nothing"
        why = "no order is possible" if self._states < MOST_STATES else f"no order was found among {MOST_STATES:,}"
        return f"{why}: after {done} of {len(self._events)} events, {state.reserved} seats reserved, stuck at {name}"

    def _following(self, state: _State) -> list[_State]:
        """The states after one more change, the most likely last, as the last is tried first."""
        changes = [number for number in state.open if self._can_happen(self._events[number], state)]
        changes.sort(key=lambda number: self._likely(number, state), reverse=True)
        following = [self._settled(self._after(state, number)) for number in changes]
        return [each for each in following if not self._lost(each)]

    def _likely(self, number: int, state: _State) -> tuple[int, float]:
        """The less, the likelier: what has seen little more than there would be, and has to end soon."""
        event = self._events[number]
        saw = self._saw.get(event.name)
        more = abs(saw - state.reserved - event.taken) if saw is not None else self._capacity
        return more, event.to_s

    def _lost(self, state: _State) -> bool:
        """Whether somebody has to have seen a number of seats that cannot come any more."""
        looks = [self._events[number] for number in state.open]
        looks = sorted((look for look in looks if look.reserved is not None), key=_seen_by)
        takes, gives = (_Coming.of(changes, state) for changes in (self._takes, self._gives))
        return (
            any(_seen_by(look) > state.reserved + takes.until(look.to_s) for look in looks)
            or any(_seen_by(look) < state.reserved + gives.until(look.to_s) for look in looks)
            or self._overtaken([look for look in looks if look.to_s < gives.first_s], state)
        )

    def _overtaken(self, looks: Sequence[Event], state: _State) -> bool:
        """Whether what must have been taken before some look is more than it saw, where nothing comes back before."""
        needed, counted = state.reserved, set(state.happened)
        for look in looks:
            if look.after is not None and look.after not in counted:
                counted.add(look.after)
                needed += self._taken[look.after]
            if needed > _seen_by(look):
                return True
        return False

    def _settled(self, state: _State) -> _State:
        """The state once all that may have begun has, and whatever only looks and can has looked."""
        while True:
            state = self._opened(state)
            looks = [n for n in state.open if not self._events[n].taken and self._can_happen(self._events[n], state)]
            if not looks:
                return state
            for number in looks:
                state = self._after(state, number)

    def _opened(self, state: _State) -> _State:
        """With every event that begins before the first of the open ones has to be over."""
        opened, following = list(state.open), state.next
        must_end_s = min((self._events[number].to_s for number in opened), default=float("inf"))
        while following < len(self._events) and self._events[following].from_s <= must_end_s:
            must_end_s = min(must_end_s, self._events[following].to_s)
            opened.append(following)
            following += 1
        return replace(state, open=tuple(opened), next=following)

    def _can_happen(self, event: Event, state: _State) -> bool:
        return (
            (event.after is None or event.after in state.happened)
            and (event.before is None or event.before not in state.happened)
            and (event.reserved is None or event.reserved == state.reserved)
            and (event.too_few_for is None or state.reserved + event.too_few_for > self._capacity)
            and (not event.taken or 0 <= state.reserved + event.taken <= self._capacity)
        )

    def _after(self, state: _State, number: int) -> _State:
        event = self._events[number]
        happened = state.happened if event.name.startswith("look") else state.happened | {event.name}
        return _State(
            tuple(other for other in state.open if other != number),
            state.next,
            state.reserved + event.taken,
            happened,
        )
