"""What the reference engine computes for a forward evaluation.

In: a stage that no fast strategy can do, or the wanted atoms that are open. Out: certain rows, or
an `Outcome` in its four strengths. Invariant: relations that are computed already are complete
external predicates here, so both engines see the same rows; an open predicate keeps the external
predicate it came with, so strengths, reasons and openings are those of the reference engine alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.engine import LazyEngine
from constat.evaluation import (
    CERTAIN,
    CONCEIVABLE,
    Answer,
    Demand,
    Evidence,
    ExternalPredicate,
    Limits,
    Origin,
    Portion,
    ResourceError,
)
from constat.forward.division import free_atom, over_stored
from constat.plan.costs import UNKNOWN_COST, predicate_costs, predicates_of
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Clock, Observer, Outcome
    from constat.forward.division import Division
    from constat.forward.stored import StoredRelations
    from constat.logic import Atom, Row
    from constat.plan.forward import ForwardPlan, Stage

_CALLS = 1_000_000_000
_NEAR = 1


class OpenStageError(Exception):
    """A stage over closed relations is no certain relation.

    A rule instance erred, or a value fits no column.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__(f"stage {stage.number} is open")
        self.stage = stage


class StoredPredicate:
    """A computed relation as an external predicate: certain and complete for every key."""

    def __init__(self, stored: StoredRelations, relation: str, cost: int) -> None:
        self._stored = stored
        self._relation = relation
        self.cost = cost

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        rows = self._stored.matching(self._relation, demand.columns, demand.keys)
        evidence = Evidence(
            tier="forward",
            origin=Origin.DERIVED,
            source=self._relation,
            executed_at=now(),
            row_count=len(rows),
        )
        portions = (Portion(tuple(rows), evidence),) if rows else ()
        return Answer(portions, (), frozenset(demand.keys), (evidence,))


class GivenRows:
    """Rows that were handed in as a whole relation, as an external predicate."""

    cost = _NEAR

    def __init__(self, read: Callable[[], Iterable[Row]]) -> None:
        self._read = read
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        index = self._indexes.get(demand.columns)
        if index is None:
            index = self._indexes[demand.columns] = {}
            for row in dict.fromkeys(self._read()):
                index.setdefault(tuple([row[n] for n in demand.columns]), []).append(row)
        rows = tuple(row for key in demand.keys for row in index.get(key, ()))
        evidence = Evidence("forward", Origin.CONFIG, "given", now(), row_count=len(rows))
        portions = (Portion(rows, evidence),) if rows else ()
        return Answer(portions, (), frozenset(demand.keys), (evidence,))


@dataclass(frozen=True, slots=True)
class Bounds:
    """When an evaluation has to end, by its clock, and after how many rows and rounds.

    And who is told what happens until then. `seconds` is the time that was there at first.
    """

    clock: Clock
    rows: int
    rounds: int
    observe: Observer
    calls: int
    seconds: float = 0.0

    @property
    def limits(self) -> Limits:
        """The limits of an evaluation that begins now."""
        counted = (self.rows, self.rounds, self.calls)
        return Limits(self.clock.left, *counted, whole=self.seconds, clock=self.clock)


def stage_rows(
    plan: ForwardPlan, stage: Stage, stored: StoredRelations, bounds: Bounds
) -> dict[str, list[Row]]:
    """Compute the relations of one stage.

    Raises `OpenStageError` where not everything is certain, `ResourceError` at a limit.
    """
    kept = frozenset(stage.predicates)
    read = {
        used
        for rule in plan.program.rules
        if rule.head.predicate in kept
        for literal in rule.body
        for used in predicates_of(literal)
    }
    below = {name: name for name in read - kept}
    program = over_stored(plan.program, kept, below)
    given = {*below, *(name for name in kept if plan.relations[name].given)}
    externals = {name: StoredPredicate(stored, name, _NEAR) for name in given}
    # Nothing is asked outside of this evaluation.
    bounds = replace(bounds, calls=_CALLS)
    found: dict[str, list[Row]] = {}
    for name in stage.predicates:
        goal = free_atom(program.program.predicates[name])
        outcome = LazyEngine().evaluate(
            program, goal, externals, bounds.limits, exhaust=True, observe=bounds.observe
        )
        if outcome.stopped:
            raise ResourceError(outcome.stopped)
        rows = list(outcome.rows(name, CERTAIN))
        if sum(1 for _ in outcome.rows(name, CONCEIVABLE)) > len(rows):
            raise OpenStageError(stage)
        found[name] = rows  # type: ignore[assignment]  # a certain row has no placeholder
    return found


def open_outcomes(
    program: AnalysedProgram,
    division: Division,
    externals: Mapping[str, ExternalPredicate],
    stored: Mapping[str, tuple[StoredRelations, str]],
    bounds: Bounds,
) -> dict[Atom, Outcome]:
    """Evaluate the open atoms; `stored` says where each relation of the frontier lies."""
    # Predicates cost what they would cost with their own rules: literals keep their order.
    costs = predicate_costs(program, {name: one.cost for name, one in externals.items()})
    names = {name: f"{name}.stored" for name in stored}
    reduced = over_stored(program, division.open_rules, names)
    every: dict[str, ExternalPredicate] = {
        name: one for name, one in externals.items() if name in reduced.external
    }
    for name, (relations, relation) in stored.items():
        every[names[name]] = StoredPredicate(relations, relation, costs.get(name, UNKNOWN_COST))
    return {
        atom: LazyEngine().evaluate(
            reduced, atom, every, bounds.limits, exhaust=True, observe=bounds.observe
        )
        for atom in division.open_wanted
    }
