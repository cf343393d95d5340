"""A circuit breaker that all workers share: when a provider fails, nobody calls it for a while; then one tries.

    verdict = breaker.check("model")
    if isinstance(verdict, Open): ...                  # come again after verdict.retry_after_s
    probe = verdict if isinstance(verdict, Probe) else None
    ... call ...
    breaker.succeeded("model", probe=probe)            # or .failed("model", probe=probe, retry_after_s=…)

What `check` sees is at most a second old, so that calling costs one read a second for each process, whatever the
number of calls. A success writes nothing but for a probe's. `failed` is for what the provider is to blame for.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

from isolane.aws.table import Table
from isolane.circuit import Circuit, Closed, HalfOpen, Open, Probe, Rules, from_row, to_row
from isolane.errors import ConditionFailed, Contended

# The clauses of the conditions, each with the race that it closes.

UNCHANGED = "#revision = :seen"
"""Two who decide on the same row: the second has to decide anew, on what the first has made of it."""
NO_ROW = "attribute_not_exists(#pk)"
"""The same, for the first to write one."""

KEPT_S = 1.0
_MOST_WRITES = 8
"""More than the failures that it takes to open: each refusal means that another has just written."""


@dataclass(frozen=True)
class Breaker:
    """All breakers of a deployment that go by the same rules, in one table (State), a row each."""

    table: Table
    rules: Rules = field(default_factory=Rules)
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    _kept: dict[str, tuple[float, Circuit]] = field(default_factory=dict)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    def check(self, name: str) -> Closed | Open | Probe:
        """Whether to call now. Whoever gets a Probe is the only one to call, and owes an answer with it."""
        verdict = self._current(name).verdict(self.now_ms())
        return self._try_to_probe(name) if isinstance(verdict, HalfOpen) else verdict

    def failed(self, name: str, *, probe: Probe | None = None, retry_after_s: float | None = None) -> None:
        """The call failed; with the provider's own `retry_after_s`, nobody calls for that long."""
        token = probe.token if probe is not None else None
        self._change(
            name,
            lambda circuit: circuit.failed(
                rules=self.rules, now_ms=self.now_ms(), probe=token, retry_after_s=retry_after_s
            ),
        )

    def succeeded(self, name: str, *, probe: Probe | None = None) -> None:
        """The call succeeded. Closes the breaker where it was the probe, and else writes nothing."""
        if probe is not None:
            self._change(name, lambda circuit: circuit.succeeded(probe=probe.token))

    def give_back(self, name: str, probe: Probe) -> None:
        """The probe will not be made: another may try at once."""
        self._change(name, lambda circuit: circuit.given_back(probe=probe.token))

    def find(self, name: str) -> Circuit:
        """The breaker as it is in the table now."""
        return from_row(self.table.get(_key(name)))

    def _try_to_probe(self, name: str) -> Closed | Open | Probe:
        token = uuid4().hex
        circuit = self._change(name, lambda circuit: circuit.probed(token, rules=self.rules, now_ms=self.now_ms()))
        if circuit.probe == token:
            return Probe(token=token)
        verdict = circuit.verdict(self.now_ms())
        return Open(retry_after_s=0.0) if isinstance(verdict, HalfOpen) else verdict

    def _current(self, name: str) -> Circuit:
        with self._reading:  # one thread reads for all that ask at the same time
            asked_at_s = self.clock()
            read_at_s, circuit = self._kept.get(name, (-math.inf, Circuit()))
            if not 0 <= asked_at_s - read_at_s < KEPT_S:
                circuit = self._keep(name, self.find(name), at_s=asked_at_s)
            return circuit

    def _keep(self, name: str, circuit: Circuit, *, at_s: float | None = None) -> Circuit:
        self._kept[name] = (self.clock() if at_s is None else at_s, circuit)
        return circuit

    def _change(self, name: str, decide: Callable[[Circuit], Circuit]) -> Circuit:
        """Writes what `decide` makes of the breaker, unless that is what it is already; and returns what it is then."""
        revision = uuid4().hex
        circuit = self._keep(name, self.find(name))  # not the kept one: it may be older than what needs no change
        for _ in range(_MOST_WRITES):
            wanted = decide(circuit)
            if wanted == circuit or circuit.revision == revision:  # the latter: written, and the answer lost
                return circuit
            try:
                wanted = self._write(name, replace(wanted, revision=revision), seen=circuit.revision)
            except ConditionFailed as refusal:
                circuit = self._keep(name, from_row(refusal.found))
            else:
                return self._keep(name, wanted)
        raise Contended

    def _write(self, name: str, circuit: Circuit, *, seen: str | None) -> Circuit:
        when = UNCHANGED if seen is not None else NO_ROW
        self.table.put({**_key(name), **to_row(circuit)}, when=when, values={"seen": seen})
        return circuit


def _key(name: str) -> dict[str, str]:
    return {"pk": f"breaker#{name}", "sk": "breaker"}
