"""The fixpoint of a recursive component, semi-naive and driven by demand.

Rows live through three stages: *added* in this round (not yet visible), *recent* (joined with
everything that waits for them), and *stable*. Every rule is cut at its recursive literals; the
bindings that reach one are kept there (`Waiting`), so that a binding meets the rows it found when
it came and, later, each row that is new. Demands of recursive literals become new keys of the
component's own procedures. What lies below is complete before it is used, because it is requested
and waited for.

Invariant at the end of `run`: no key is pending and no row is recent, so every demanded pattern
is complete. See Balbin and Ramamohanarao, A generalization of the differential approach to
recursive query evaluation (1987).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field

from constat.engine.batch import Batch, widest
from constat.engine.firing import heads, start
from constat.engine.joins import LimitReachedError, Waiting, join
from constat.engine.relation import tuple_getter
from constat.engine.state import State
from constat.engine.steps import Request, Steps
from constat.evaluation import ABSENT, RoundFinished
from constat.logic import OpenRow, Row
from constat.plan import Columns, Join, Plan, Procedure, RulePlan

_MANY = 64
"""From this many weak bindings on it pays to look for those that say nothing of their own."""


@dataclass(slots=True)
class _Stage:
    """A rule of a procedure, cut before the recursive literal at `place`."""

    procedure: Procedure
    rule: RulePlan
    place: int
    waiting: Waiting


@dataclass(slots=True)
class _Added:
    """Rows that came in this round and are not visible yet."""

    sure: set[Row] = field(default_factory=set)
    weak: dict[OpenRow, int] = field(default_factory=dict)


class Component:
    """One strongly connected component during one evaluation; keeps its state between demands."""

    def __init__(self, number: int, plan: Plan, state: State, steps: Steps) -> None:
        self.predicates = tuple(name for name, one in plan.component.items() if one == number)
        self._plan = plan
        self._state = state
        self._steps = steps
        self._pending: dict[tuple[str, Columns], list[Row]] = {}
        self._added: dict[str, _Added] = {name: _Added() for name in self.predicates}
        self._recent: dict[str, tuple[list[Row], list[tuple[OpenRow, int]]]] = {}
        self._stages: dict[tuple[str, Columns, int, int], _Stage] = {}
        self._asked: list[tuple[str, Columns, list[Row]]] = []
        self._round = 0

    def demand(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> None:
        """Ask for keys that are not served yet."""
        state = self._state
        new = state.served(predicate).missing(columns, dict.fromkeys(keys))
        if not new:
            return
        state.served(predicate).add(columns, new)
        facts = self._plan.procedures[predicate, columns].facts
        self._see(predicate, *state.state_facts(predicate, facts))
        if predicate in state.program.external:
            self._see(predicate, *state.fetch(predicate, columns, tuple(new)))
        self._pending.setdefault((predicate, columns), []).extend(new)
        self._asked.append((predicate, columns, new))

    def _see(self, predicate: str, sure: list[Row], weak: list[tuple[OpenRow, int]]) -> None:
        """Rows that are visible at once are recent too: what waits must still meet them."""
        if sure or weak:
            earlier = self._recent.get(predicate, ([], []))
            self._recent[predicate] = (earlier[0] + sure, earlier[1] + weak)

    def run(self, settled: Callable[[], bool]) -> Generator[Request, None, None]:
        """Work until nothing is pending and nothing is recent, or until the goal is settled."""
        while (self._pending or self._recent) and not settled():
            self._round += 1
            self._state.check()
            if self._round > self._state.limits.rounds:
                raise LimitReachedError(
                    f"the limit of {self._state.limits.rounds:,} rounds was reached"
                )
            yield from self._meet_recent()
            while self._pending:
                (predicate, columns), keys = self._pending.popitem()
                yield from self._open_keys(self._plan.procedures[predicate, columns], keys)
            self._promote()
        if not self._pending and not self._recent:
            for predicate, columns, keys in self._asked:
                self._state.complete(predicate, columns, keys)
            self._asked.clear()

    def _meet_recent(self) -> Generator[Request, None, None]:
        """Join what waits with the recent rows, all before anything new waits."""
        met: list[tuple[_Stage, Batch]] = []
        for stage in self._stages.values():
            recent = self._recent.get(stage.waiting.step.predicate)
            if recent is not None:
                met.append((stage, stage.waiting.meet(*recent)))
        self._recent = {}
        for stage, batch in met:
            yield from self._advance(stage.procedure, stage.rule, stage.place + 1, batch)

    def _open_keys(self, procedure: Procedure, keys: list[Row]) -> Generator[Request, None, None]:
        for rule in procedure.rules:
            yield from self._advance(procedure, rule, 0, start(rule, keys))

    def _advance(
        self, procedure: Procedure, rule: RulePlan, place: int, batch: Batch
    ) -> Generator[Request, None, None]:
        """Take bindings from a step of a rule to its end."""
        for number in range(place, len(rule.steps)):
            if not batch:
                return
            if len(batch.weak) > _MANY:
                batch.weak = widest(batch.weak)
            step = rule.steps[number]
            if isinstance(step, Join) and step.predicate in self._added:
                batch = self._wait(procedure, rule, number, step, batch)
            else:
                batch = yield from self._steps.step(rule.steps, number, batch, rule)
            self._state.check()
        self._add(procedure.predicate, rule, batch)

    def _wait(
        self, procedure: Procedure, rule: RulePlan, number: int, step: Join, batch: Batch
    ) -> Batch:
        name = (procedure.predicate, procedure.columns, rule.rule, number)
        stage = self._stages.get(name)
        if stage is None:
            stage = self._stages[name] = _Stage(procedure, rule, number, Waiting(step))
        new = stage.waiting.add(batch)
        self.demand(step.predicate, step.columns, new.keys(tuple_getter(step.key)))
        state = self._state
        served = state.served(step.predicate)
        return join(step, new, state.relation(step.predicate), served, state.limits)

    def _add(self, predicate: str, rule: RulePlan, batch: Batch) -> None:
        if not batch:
            return
        sure, weak = heads(rule, batch, self._state)
        added = self._added[predicate]
        relation = self._state.relation(predicate)
        added.sure |= sure.difference(relation.sure)
        for row, strength in weak:
            # What is wholly open in a recursion would be spelled out pair by pair.
            if strength > added.weak.get(row, ABSENT) and not relation.says(row, strength):
                added.weak[row] = strength

    def _promote(self) -> None:
        """Make the rows of this round visible; they are recent in the next."""
        total = 0
        for predicate, added in self._added.items():
            if not added.sure and not added.weak:
                continue
            self._added[predicate] = _Added()
            sure, weak = self._state.add(predicate, added.sure, added.weak.items())
            if sure or weak:
                earlier = self._recent.get(predicate, ([], []))
                self._recent[predicate] = (earlier[0] + sure, earlier[1] + weak)
                total += len(sure) + len(weak)
        self._state.tell(RoundFinished(self.predicates, self._round, total))
