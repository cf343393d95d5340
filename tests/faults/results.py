"""The table of what the lab has walked through: one row a flow."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_HEADINGS = ("flow", "crash points", "interleavings", "schedules", "violations", "time", "notes")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one walk did: points struck, interleavings enumerated, random schedules run, violations found, seconds."""

    flow: str
    crash_points: int = 0
    interleavings: int = 0
    schedules: int = 0
    violations: int = 0
    seconds: float = 0.0
    notes: str = ""

    def plus(self, other: "Row") -> "Row":
        """The row of two walks over one flow."""
        return Row(
            flow=self.flow,
            crash_points=self.crash_points + other.crash_points,
            interleavings=self.interleavings + other.interleavings,
            schedules=self.schedules + other.schedules,
            violations=self.violations + other.violations,
            seconds=self.seconds + other.seconds,
            notes="; ".join(note for note in (self.notes, other.notes) if note),
        )

    def cells(self) -> tuple[str, ...]:
        """The row as it is printed; what was not tried is left blank."""
        counts = (self.crash_points, self.interleavings, self.schedules)
        shown = (str(count) if count else "" for count in counts)
        return (self.flow, *shown, str(self.violations), f"{self.seconds:.1f} s", self.notes)


@dataclass(kw_only=True)
class Results:
    """Rows by flow, put together as walks come in; safe to share between threads."""

    rows: dict[str, Row] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, row: Row) -> None:
        """Adds what a walk did to the row of its flow."""
        with self._lock:
            known = self.rows.get(row.flow)
            self.rows[row.flow] = row if known is None else known.plus(row)

    def save(self, path: Path) -> None:
        """Writes the rows down, for `add_saved` in another process."""
        path.write_text(json.dumps([vars(row) for row in self.rows.values()]))

    def add_saved(self, path: Path) -> None:
        """Adds the rows that another process has written down."""
        for row in json.loads(path.read_text()):
            self.add(Row(**row))

    def table(self) -> str:
        """The table as text, with a line of totals."""
        rows = list(self.rows.values())
        total = Row(flow="total")
        for row in rows:
            total = total.plus(Row(**{**vars(row), "notes": ""}))
        return as_table([_HEADINGS, *(row.cells() for row in rows), total.cells()])


def as_table(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in aligned columns, a rule under the first."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    written = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    return "\n".join([written[0], "  ".join("-" * width for width in widths), *written[1:]])


def headline(error: BaseException) -> str:
    """What an error says, without the lines that pytest adds to an assertion."""
    said = str(error).splitlines()
    return f"{type(error).__name__}: {said[0] if said else ''}"
