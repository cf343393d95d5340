"""The model: what tasks, keys, claims and the cache come to, said in a page, in memory and with nothing that can fail.

Times are milliseconds since 1970, as in the rows. A submission is told apart by its number, a claim by its number.
"""

from dataclasses import dataclass, field, replace
from itertools import count

from isolane.task import REMEMBERED_S, RESULT_S, UNFINISHED_ROW_S, UNFINISHED_S, UNREVIEWED_S

WORKED_ON = ("pending", "processing")
TERMINAL = ("completed", "failed", "canceled")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A task."""

    owner: str
    text: str
    submission: int
    created: int
    deadline: int
    drop_s: int
    """When TTL may take the row; `gone_s`: when its result has expired."""
    status: str = "pending"
    attempt: int = 0
    claim: int | None = None
    until: int = 0
    gone_s: int | None = None
    score_of: str | None = None
    """The text whose score it has."""
    error: str | None = None
    reviewer: str | None = None
    lent_until: int = 0
    verdict: int | None = None


@dataclass
class Model:
    """All tasks, by name, and the cached texts with the second at which each is gone."""

    now: int
    most_attempts: int
    cache_s: int
    rows: dict[str, Row] = field(default_factory=dict)
    cached: dict[tuple[str, str], int] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def submit(self, name: str, *, owner: str, text: str) -> str:
        """`new`, `cached`, `replayed`, or `mismatch`."""
        there = self.rows.get(name)
        if there is not None and not self._expired(there):
            if there.text != text:
                return "mismatch"
            self.settle(name)
            return "replayed"
        row = Row(
            owner=owner,
            text=text,
            submission=next(self._numbers),
            created=self.now,
            deadline=self.now + UNFINISHED_S * 1000,
            drop_s=self.now // 1000 + UNFINISHED_ROW_S,
        )
        self.rows[name] = row
        if self.cached.get((owner, text), 0) * 1000 > self.now:
            self._end(name, "completed", score_of=text)
            return "cached"
        return "new"

    def read(self, name: str, *, owner: str) -> Row | str:
        """The task, or `not_found`, or `expired`."""
        row = self.rows.get(name)
        if row is None or row.owner != owner:
            return "not_found"
        if self._expired(row):
            return "not_found" if self._expired(row, longer_s=REMEMBERED_S) else "expired"
        return self.settle(name)

    def newest_first(self, owner: str) -> list[str]:
        mine = [name for name, row in self.rows.items() if row.owner == owner and not self._expired(row)]
        for name in mine:
            self.settle(name)
        return sorted(mine, key=lambda name: -self.rows[name].created)

    def claim(self, name: str, *, submission: int, until: int) -> int | str:
        """The claim's number, or why not."""
        row = self.rows.get(name)
        if row is None or row.submission != submission:
            return "NoRow"
        if row.status not in WORKED_ON:
            return "Finished"
        if row.deadline <= self.now:
            return "Overdue"
        if row.status == "processing" and row.until > self.now:
            return "Busy"
        if row.attempt >= self.most_attempts:
            return "Exhausted"
        number = next(self._numbers)
        self.rows[name] = replace(row, status="processing", claim=number, until=until, attempt=row.attempt + 1)
        return number

    def end(self, name: str, claim: int, status: str, *, error: str | None = None) -> bool:
        """Completes or fails under a claim; whether that claim still held."""
        if held := self._held(name, claim):
            self._end(name, status, error=error, score_of=self.rows[name].text if status == "completed" else None)
        return held

    def give_back(self, name: str, claim: int, *, attempted: bool) -> None:
        if self._held(name, claim):
            row = self.rows[name]
            self.rows[name] = replace(row, status="pending", claim=None, attempt=row.attempt - (not attempted))

    def review(self, name: str, claim: int, *, error: str) -> None:
        if self._held(name, claim):
            deadline_s = self.now // 1000 + UNREVIEWED_S
            drop_s = deadline_s + UNFINISHED_ROW_S - UNFINISHED_S
            row = self.rows[name]
            self.rows[name] = replace(row, status="in_review", deadline=deadline_s * 1000, drop_s=drop_s, error=error)

    def take(self, name: str, *, reviewer: str, until: int) -> bool:
        """Whether the reviewer gets it."""
        row = self.rows.get(name)
        if row is None or row.status != "in_review" or row.deadline <= self.now:
            return False
        if row.reviewer not in (None, reviewer) and row.lent_until > self.now:
            return False
        self.rows[name] = replace(row, reviewer=reviewer, lent_until=until)
        return True

    def judge(self, name: str, *, reviewer: str, verdict: int) -> str:
        """`completed`, or why not."""
        row = self.rows.get(name)
        if row is None:
            return "not_found"
        seen = self.read(name, owner=row.owner)
        if isinstance(seen, str):
            return seen
        if seen.status in TERMINAL:
            mine = seen.status == "completed" and (seen.reviewer, seen.verdict) == (reviewer, verdict)
            return "completed" if mine else "task_finished"
        if seen.status == "in_review" and seen.reviewer == reviewer:
            self._end(name, "completed", verdict=verdict)
            return "completed"
        lent = seen.status == "in_review" and seen.lent_until > self.now
        return "review_taken" if lent else "review_not_taken"

    def cancel(self, name: str, *, owner: str) -> str:
        """`canceled`, `task_finished`, `not_found` or `expired`."""
        row = self.rows.get(name)
        if row is not None and row.owner == owner and row.status not in TERMINAL:
            self._end(name, "canceled")
            return "canceled"
        seen = self.read(name, owner=owner)
        return seen if isinstance(seen, str) else "task_finished"

    def abandon(self, name: str, *, submission: int, error: str) -> None:
        row = self.rows.get(name)
        if row is not None and row.submission == submission and row.status in WORKED_ON:
            self._end(name, "failed", error=error)

    def remember(self, owner: str, text: str) -> None:
        self.cached[owner, text] = self.now // 1000 + self.cache_s

    def reap(self) -> None:
        """Time to live takes what it may."""
        self.rows = {name: row for name, row in self.rows.items() if row.drop_s >= self.now // 1000}

    def _held(self, name: str, claim: int) -> bool:
        row = self.rows.get(name)
        return row is not None and row.status == "processing" and row.claim == claim

    def _expired(self, row: Row, *, longer_s: int = 0) -> bool:
        return row.gone_s is not None and (row.gone_s + longer_s) * 1000 <= self.now

    def settle(self, name: str) -> Row:
        """The task, timed out if its deadline has passed."""
        row = self.rows[name]
        if row.status not in TERMINAL and row.deadline <= self.now:
            self._end(name, "failed", error="timed_out")
        return self.rows[name]

    def _end(
        self,
        name: str,
        status: str,
        *,
        score_of: str | None = None,
        error: str | None = None,
        verdict: int | None = None,
    ) -> None:
        gone_s = self.now // 1000 + RESULT_S
        self.rows[name] = replace(
            self.rows[name],
            status=status,
            score_of=score_of,
            error=error,
            verdict=verdict,
            gone_s=gone_s,
            drop_s=gone_s + REMEMBERED_S,
        )
