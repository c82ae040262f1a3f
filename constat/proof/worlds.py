"""The world as it would be with some facts more and some fewer, asked row by row.

In: an engine, a program, external predicates, and what is supposed.  Out: rows of patterns, truths
of ground atoms, values of aggregates.  Invariant: every answer is the engine's or a source's own
in that world; nothing is computed here.

Example: without ``blocked(C004)`` the pattern ``is_vip(C004)`` has a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.evaluation import ACCEPTED, Demand
from constat.logic import OPEN, Atom, Column, Constant, Predicate, Rule, Variable
from constat.proof.overlay import Overlay, Removal, overlaid
from constat.tiers import Chain

if TYPE_CHECKING:
    from constat.evaluation import Derivation, Engine, Externals, Limits, Outcome
    from constat.logic import Aggregate, Kind, Literal, OpenRow, Row

_GROUP: Final = "abduction.group"


@dataclass(frozen=True, slots=True)
class Delta:
    """What is supposed: rows more, rows fewer."""

    added: frozenset[tuple[str, Row]] = frozenset()
    removed: frozenset[tuple[str, Row]] = frozenset()

    def overlay(self) -> Overlay:
        """Return it as an overlay."""
        removals = sorted(self.removed, key=str)
        return Overlay(tuple(sorted(self.added, key=str)), tuple(Removal(*one) for one in removals))


@dataclass(slots=True)
class Worlds:
    """Answers questions about worlds, each question once.

    ``contradicted`` names predicates of which tiers say what cannot be true at once.
    """

    engine: Engine
    program: AnalysedProgram
    externals: Externals
    limits: Limits
    evaluations: int = 0
    known: dict[object, object] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)

    def rows(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        """Return the rows that match a shape: those of sources, and conclusions."""
        key = (predicate, shape, delta)
        if key not in self.known:
            found = dict.fromkeys(self._told(predicate, shape, delta))
            if self._is_derived(predicate):
                found.update(dict.fromkeys(self._concluded(predicate, shape, delta)))
            over = self.limits.running().over
            self.known[key] = [row for row in over(found) if _matches(row, shape)]
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def key(self, predicate: str) -> tuple[int, ...] | None:
        """Return the columns in which a row must differ from others to count beside them."""
        chain = self.externals.get(predicate)
        return chain.key if isinstance(chain, Chain) else None

    def told(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        """Return the rows of sources that match a shape, without those that are supposed."""
        found = self._told(predicate, shape, delta)
        return [row for row in found if (predicate, row) not in delta.added]

    def strength(self, predicate: str, row: Row, delta: Delta) -> int:
        """Return how strongly a ground row holds."""
        return self._outcome(predicate, row, delta).strength(self._atom(predicate, row))

    def derivation(self, predicate: str, row: Row, delta: Delta) -> Derivation | None:
        """Return one derivation of a row that holds."""
        try:
            return self._outcome(predicate, row, delta).derivation(predicate, row, ACCEPTED)
        except KeyError:
            return None

    def proves(self, goal: Atom, delta: Delta) -> bool:
        """Tell whether a goal holds in a world, assumptions accepted."""
        outcome = self._evaluate(self.program, goal, delta)
        return outcome.strength(goal) >= ACCEPTED

    def group(self, aggregate: Aggregate, kinds: dict[str, Kind], delta: Delta) -> list[Row]:
        """Return the value of an aggregate whose outer variables have been replaced by values."""
        result = aggregate.result
        head = Atom(_GROUP, (result,))
        plain = replace(aggregate, recursive=False)
        return self._asked(head, (plain,), kinds, delta)

    def assignments(
        self,
        body: tuple[Literal, ...],
        names: tuple[str, ...],
        kinds: dict[str, Kind],
        delta: Delta,
    ) -> list[Row]:
        """Return the values of variables under which a body holds."""
        head = Atom(_GROUP, tuple(Variable(name) for name in names))
        return self._asked(head, body, kinds, delta)

    def _asked(
        self, head: Atom, body: tuple[Literal, ...], kinds: dict[str, Kind], delta: Delta
    ) -> list[Row]:
        key = (head, body, delta)
        if key not in self.known:
            program = self._with_rule(head, body, kinds)
            outcome = self._evaluate(program, head, delta)
            found = [row for row in outcome.rows(_GROUP, ACCEPTED) if OPEN not in row]
            self.known[key] = found
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def _with_rule(
        self, head: Atom, body: tuple[Literal, ...], kinds: dict[str, Kind]
    ) -> AnalysedProgram:
        columns = tuple(
            Column(term.name, kinds[term.name].value, kinds[term.name])
            for term in head.terms
            if isinstance(term, Variable)
        )
        base = self.program
        rules = (*base.rules, Rule(f"{_GROUP}.1", head, body))
        predicates = {**base.program.predicates, _GROUP: Predicate(_GROUP, columns)}
        return AnalysedProgram(
            replace(base.program, predicates=predicates, rules=rules),
            rules,
            (*base.variable_kinds, kinds),
            (*base.components, Component((_GROUP,), recursive=False)),
            base.external,
        )

    def _is_derived(self, predicate: str) -> bool:
        return any(rule.head.predicate == predicate for rule in self.program.rules)

    def _told(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        if predicate not in self.program.external:
            return []
        columns = tuple(place for place, slot in enumerate(shape) if slot is not OPEN)
        key: Row = tuple(shape[column] for column in columns)  # type: ignore[misc]  # ground
        declared = self.program.program.predicates[predicate]
        demand = Demand(declared, columns, (key,), self.limits.running())
        answer = self._world(delta)[predicate].answer(demand)
        if answer.conflicts and answer.openings:
            self.contradicted.add(predicate)
        return [row for portion in answer.portions for row in demand.clock.over(portion.rows)]

    def _concluded(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        outcome = self._outcome(predicate, shape, delta)
        rows = outcome.rows(predicate, ACCEPTED)
        return [row for row in rows if OPEN not in row]  # type: ignore[misc]  # ground

    def _outcome(self, predicate: str, shape: OpenRow, delta: Delta) -> Outcome:
        key = ("outcome", predicate, shape, delta)
        if key not in self.known:
            atom = self._atom(predicate, shape)
            self.known[key] = self._evaluate(self.program, atom, delta)
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def _atom(self, predicate: str, shape: OpenRow) -> Atom:
        kinds = self.program.program.predicates[predicate].kinds
        return Atom(
            predicate,
            tuple(
                Variable(f"c{place}") if slot is OPEN else Constant(slot, kind)
                for place, (slot, kind) in enumerate(zip(shape, kinds, strict=True))
            ),
        )

    def _evaluate(self, program: AnalysedProgram, goal: Atom, delta: Delta) -> Outcome:
        self.evaluations += 1
        return self.engine.evaluate(program, goal, self._world(delta), self.limits)

    def _world(self, delta: Delta) -> Externals:
        if not delta.added and not delta.removed:
            return self.externals
        key = ("world", delta)
        if key not in self.known:
            self.known[key] = overlaid(self.externals, self.program, delta.overlay())
        return self.known[key]  # type: ignore[return-value]  # as it was put there


def _matches(row: Row, shape: OpenRow) -> bool:
    return all(slot is OPEN or slot == value for slot, value in zip(shape, row, strict=True))
