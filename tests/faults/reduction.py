"""Which interleavings must be tried: all of them, up to the order of steps that do not disturb each other.

Source-DPOR, after Abdulla, Aronis, Jonsson and Sagonas, "Optimal Dynamic Partial Order Reduction" (2014). Each run
follows the choices of the last one up to some node and then goes on by itself. When a step disturbs an earlier one, and
nothing but the order of turns put that one first, the two are in a race; then somebody who could begin the other order
is noted at the node before the earlier step. A sleep set holds the actors whose next step was already tried from
here and is not disturbed by what was done since.

(The older and simpler rule, which notes the later step's actor, misses orders when that actor is asleep.)
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.faults.calls import Touches, disturb
from tests.faults.stage import Choice, Step


class NotDeterministic(Exception):
    """The same choices did not lead to the same steps."""


@dataclass(frozen=True, kw_only=True)
class Death:
    """An actor dies at its nth step (from 1), before or after it is applied."""

    actor: str
    nth: int
    side: str


@dataclass(kw_only=True)
class _Node:
    """A point where somebody's turn was chosen."""

    pending: dict[str, Touches]
    chosen: str
    nth: int
    backtrack: set[str]
    sleep: set[str]
    done: set[str] = field(default_factory=set)

    def asleep_after(self) -> set[str]:
        """Who need not be tried after this step, because their step commutes with it and was tried before it."""
        step = self.pending[self.chosen]
        tried = (self.sleep | self.done) - {self.chosen}
        return {actor for actor in tried if not disturb(self.pending[actor], step)}


@dataclass(kw_only=True)
class _Run:
    """What happened so far in the present run: how many steps each actor took, and what came before what."""

    depth: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    knows: dict[str, dict[str, int]] = field(default_factory=dict)
    known_at: list[dict[str, int]] = field(default_factory=list)


class Explorer:
    """Chooses the steps of run after run until every interleaving that can differ has been tried.

    Races with an actor's steps beyond its `depth` first are not turned round; there the order is drawn at random, and
    `bounded` tells that it happened. `reduce=False` tries every order, for the tests of this module.
    """

    def __init__(self, *, depth: int, seed: int, death: Death | None = None, reduce: bool = True) -> None:
        self.bounded = False
        self.died = False
        self._depth = depth
        self._death = death
        self._reduce = reduce
        self._random = random.Random(seed)
        self._nodes: list[_Node] = []
        self._run = _Run()

    def choose(self, pending: Mapping[str, Step]) -> Choice | None:
        """The next step of this run, or None if all that follows was tried in another order already."""
        touches = {actor: step.touches for actor, step in pending.items()}
        node = self._node(touches)
        if node is None:
            return None
        self._take(node)
        return Choice(actor=node.chosen, dies=self._fate(node))

    def next_run(self) -> bool:
        """Turns to the next interleaving; False when there is none left."""
        self._run = _Run()
        while self._nodes:
            node = self._nodes[-1]
            node.done.add(node.chosen)
            untried = node.backtrack - node.done - node.sleep
            if untried:
                node.chosen = min(untried)
                return True
            self._nodes.pop()
        return False

    def _node(self, touches: dict[str, Touches]) -> _Node | None:
        if self._run.depth == len(self._nodes):
            return self._new_node(touches)
        node = self._nodes[self._run.depth]
        if set(node.pending) != set(touches):
            raise NotDeterministic(f"step {self._run.depth + 1}: first {sorted(node.pending)}, now {sorted(touches)}")
        # Keys may be drawn anew in each run, so what a step touches is what it touches now.
        node.pending = touches
        node.nth = self._run.taken.get(node.chosen, 0) + 1
        return node

    def _new_node(self, touches: dict[str, Touches]) -> _Node | None:
        last = self._nodes[-1] if self._nodes else None
        sleep = last.asleep_after() if last is not None and self._reduce else set()
        awake = sorted(set(touches) - sleep)
        if not awake:
            return None
        chosen = self._prefer(awake, last=last)
        backtrack = {chosen} if self._reduce else set(touches)
        nth = self._run.taken.get(chosen, 0) + 1
        node = _Node(pending=touches, chosen=chosen, nth=nth, backtrack=backtrack, sleep=sleep)
        self._nodes.append(node)
        return node

    def _prefer(self, awake: list[str], *, last: _Node | None) -> str:
        if any(self._run.taken.get(actor, 0) >= self._depth for actor in awake):
            return self._random.choice(awake)
        return last.chosen if last is not None and last.chosen in awake else awake[0]

    def _take(self, node: _Node) -> None:
        run, step = self._run, node.pending[node.chosen]
        before = run.knows.get(node.chosen, {})
        disturbed = [n for n, it in enumerate(self._nodes[: run.depth], 1) if disturb(it.pending[it.chosen], step)]
        knows = dict(before)
        for number in disturbed:
            _merge(knows, run.known_at[number - 1])
        if self._reduce:
            fresh = [number for number in disturbed if number > before.get(self._nodes[number - 1].chosen, 0)]
            for number in self._immediate(fresh):
                self._reverse(number, node, knows=knows)
        run.depth += 1
        knows[node.chosen] = run.depth
        run.knows[node.chosen] = knows
        run.known_at.append(knows)
        run.taken[node.chosen] = node.nth

    def _immediate(self, numbers: list[int]) -> list[int]:
        """Those of the steps that come before none of the others."""
        return [one for one in numbers if not any(self._precedes(one, other) for other in numbers if other > one)]

    def _precedes(self, one: int, other: int) -> bool:
        return one <= self._run.known_at[other - 1].get(self._nodes[one - 1].chosen, 0)

    def _reverse(self, number: int, node: _Node, *, knows: Mapping[str, int]) -> None:
        """Notes who could begin an order in which `node`'s step comes before the step of this number."""
        racing = self._nodes[number - 1]
        beginners = self._beginners(number, node, knows=knows)
        if beginners & racing.backtrack:
            return
        if max(racing.nth, node.nth) > self._depth:
            self.bounded = True
        else:
            racing.backtrack.add(node.chosen if node.chosen in beginners else min(beginners))

    def _beginners(self, number: int, node: _Node, *, knows: Mapping[str, int]) -> set[str]:
        """The actors whose step comes first of all that has to happen, but for that step, before `node`'s."""
        free = [n for n in range(number + 1, self._run.depth + 1) if not self._precedes(number, n)]
        first = {self._nodes[n - 1].chosen for n in free if not any(self._precedes(m, n) for m in free if m < n)}
        if not any(n <= knows.get(self._nodes[n - 1].chosen, 0) for n in free):
            first.add(node.chosen)
        return first

    def _fate(self, node: _Node) -> str:
        death = self._death
        if death is None or (death.actor, death.nth) != (node.chosen, node.nth):
            return ""
        self.died = True
        return death.side


def _merge(knows: dict[str, int], more: Mapping[str, int]) -> None:
    for actor, number in more.items():
        knows[actor] = max(knows.get(actor, 0), number)
