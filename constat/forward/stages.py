"""Compute the stages of a plan, each by the first strategy that can give the exact answer."""

from __future__ import annotations

import time
from dataclasses import field, replace
from types import MappingProxyType
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
    MemoryNeededError,
    Origin,
    Portion,
    ResourceError,
    StageFinished,
    StageReport,
    StrategyError,
)
from constat.forward.division import free_atom, over_stored
from constat.frozen import frozen, slotted
from constat.plan.compilation import UNKNOWN_COST, predicate_costs, predicates_of
from constat.plan.forward import Strategy
from constat.plan.planning import demanded
from constat.sql.connection import ValueFailureError
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from constat.analysis import AnalysedProgram
    from constat.columnar import Columns
    from constat.evaluation import Clock, Observer, Outcome, Resources
    from constat.forward.division import Division
    from constat.forward.inputs import Options
    from constat.forward.results import StoredRelations
    from constat.logic import Atom, Row
    from constat.plan.forward import ForwardPlan, Stage
    from constat.sql import Database

# Relations that are computed already are complete external predicates here, so both engines see
# the same rows; an open predicate keeps the external predicate it came with, so strengths, reasons
# and openings are those of the reference engine alone.

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


@frozen
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


_BY_ARRAYS = frozenset({Strategy.BITMAP, Strategy.RUNS})
_STATEMENTS = frozenset({Strategy.STATEMENT, Strategy.CTE, Strategy.LOOP})
_BYTES = 8
# A statement costs some milliseconds, arrays of so many rows less; and so many candidates at most
# are made of them before statements are tried after all.
_FEW = 100_000
_MOST = MappingProxyType({Strategy.RUNS: 4_000_000, Strategy.BITMAP: 40_000_000})


class ErringStageError(Exception):
    """A value of a stage cannot be computed, and nobody has looked which."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(f"stage {stage.number} errs")
        self.stage = stage


@slotted
class StageRun:
    """One evaluation of the stages of a plan; `reports` grows as they finish.

    `may_look` says whether a stage in which a value cannot be computed can do without it.
    """

    plan: ForwardPlan
    database: Database
    stored: StoredRelations
    options: Options
    bounds: Bounds
    may_look: Callable[[Stage], bool] = lambda _: False
    reports: list[StageReport] = field(default_factory=list)

    def run(self) -> None:
        """Compute all stages, callees first."""
        for stage in self.plan.stages:
            self._require_time()
            report = self._computed(stage)
            self.reports.append(report)
            rows = sum(report.rows.values())
            self.bounds.observe(
                StageFinished(
                    stage.number,
                    len(self.plan.stages),
                    stage.predicates,
                    report.strategy,
                    report.rounds,
                    rows,
                    report.seconds,
                )
            )
            if rows > self.bounds.rows:
                raise ResourceError(f"the limit of {self.bounds.rows:,} rows was reached", "rows")

    def _require_time(self) -> None:
        if not self.bounds.clock.left:
            seconds = self.bounds.seconds or self.options.resources.seconds
            raise ResourceError(f"the time limit of {seconds:g} seconds was reached", "seconds")

    def _computed(self, stage: Stage) -> StageReport:
        tried: list[tuple[str, str]] = []
        errs = False
        for strategy in self._choices(stage):
            if strategy is Strategy.REFERENCE and errs and self.may_look(stage):
                raise ErringStageError(stage)
            started = time.monotonic()
            try:
                report = self._by(stage, strategy)
            except MemoryNeededError as problem:
                if not self._may_spill(stage, strategy):
                    raise
                tried.append((strategy.value, str(problem)))
                continue
            except StrategyError as problem:
                tried.append((strategy.value, str(problem)))
                errs = errs or isinstance(problem, ValueFailureError)
                continue
            seconds = report.seconds or time.monotonic() - started
            return replace(report, seconds=seconds, tried=(*tried, *report.tried))
        raise AssertionError("the reference engine refuses no stage")

    def _choices(self, stage: Stage) -> tuple[Strategy, ...]:
        """Give the strategies to try, in order."""
        choices = _choices(stage, self.options.strategy)
        if self.options.strategy is None and choices[0] in _STATEMENTS and self._is_small(stage):
            # What a plan takes for too many pairs is seen to be few when all values are there.
            first = (Strategy.BITMAP, Strategy.RUNS) if stage.recursive else (Strategy.RUNS,)
            return tuple(dict.fromkeys((*first, *choices)))
        return choices

    def _is_small(self, stage: Stage) -> bool:
        """Whether so little is read that statements cost more than their work.

        The rows are counted, not estimated: behind many layers an estimate says nothing.
        """
        read = [name for name in _read_by(stage) if name in self.plan.relations]
        rows = sum(self.database.estimate(name) for name in {*read, *stage.predicates})
        if rows > _FEW:
            return False
        columnar = _columnar()
        return not columnar.refusal(stage, self.plan.relations, Strategy.RUNS)

    def _may_spill(self, stage: Stage, strategy: Strategy) -> bool:
        """Whether rounds of statements are still to be tried, which need no more than the disk."""
        choices = self._choices(stage)
        later = choices[choices.index(strategy) + 1 :]
        return Strategy.LOOP in later and self.database.connection.spills

    def _by(self, stage: Stage, strategy: Strategy) -> StageReport:
        if strategy is Strategy.REFERENCE:
            return self._by_reference(stage)
        if strategy in _BY_ARRAYS:
            tried = strategy is not stage.strategy and self.options.strategy is None
            small = tried and stage.strategy in _STATEMENTS
            return self._by_arrays(stage, strategy, _MOST[strategy] if small else None)
        from constat.sql import run_stage  # noqa: PLC0415  loaded when it is used

        report: StageReport = run_stage(
            self.database,
            self.plan,
            stage,
            strategy,
            analyze=self.options.measured,
            stamps=self.options.stamps,
            observe=self.bounds.observe,
        )
        return report

    def _by_reference(self, stage: Stage) -> StageReport:
        rows = stage_rows(self.plan, stage, self.stored, self.bounds)
        counts: dict[str, int] = {}
        for name, found in rows.items():
            self.stored.forget(name)
            try:
                self.database.load_rows(name, found)
            except StrategyError:
                # A value that no column can hold: whoever reads it must be the reference engine.
                raise OpenStageError(stage) from None
            counts[name] = len(found)
        return StageReport(stage.number, Strategy.REFERENCE.value, 0, counts)

    def _by_arrays(self, stage: Stage, strategy: Strategy, most: int | None) -> StageReport:
        columnar = _columnar()
        read = _read_by(stage)
        # Before arrays are made of relations that it would not take.
        reason = columnar.refusal(stage, self.plan.relations, strategy)
        if reason:
            raise StrategyError(reason)
        self._need_memory(read | set(stage.predicates))
        relations = {
            name: self.database.columns(name)
            for name in sorted(read | set(stage.predicates))
            if name in self.plan.relations
        }
        found, report = columnar.run_stage(
            stage,
            self.plan,
            relations,
            self.database.number_of,
            strategy,
            self._resources(),
            stamps=self.options.stamps,
            analyze=self.options.measured,
            observe=self.bounds.observe,
            most=most,
        )
        arrays: Mapping[str, Columns] = found
        for name, columns in arrays.items():
            # With stamps the last column is the round.
            arity = self.plan.relations[name].arity
            self.database.store_columns(name, columns[:arity])
            if self.options.stamps:
                self.database.store_stamps(name, columns)
        told: StageReport = report
        return told

    def _need_memory(self, names: Iterable[str]) -> None:
        """Refuse to make arrays of more than the memory that there may be."""
        limit = self.options.resources.memory
        known = [name for name in names if name in self.plan.relations]
        size = sum(
            self.database.estimate(name) * self.plan.relations[name].arity * _BYTES
            for name in known
        )
        if limit and size > limit // 2:
            megabytes = size >> 20
            raise MemoryNeededError(f"its arrays would need {megabytes:,} MB of {limit >> 20:,} MB")

    def _resources(self) -> Resources:
        return replace(self.options.resources, seconds=self.bounds.clock.left)


def _columnar() -> ModuleType:
    # It loads numpy, which only some plans need.
    from constat import columnar as columnar_module  # noqa: PLC0415  loaded when it is used

    return columnar_module


def _choices(stage: Stage, wanted: Strategy | None) -> tuple[Strategy, ...]:
    """Give the strategies to try, in order; the reference engine is always the last resort."""
    first = (wanted,) if wanted in {*stage.choices, Strategy.REFERENCE} else ()
    listed = (*first, stage.strategy, *stage.choices, Strategy.REFERENCE)
    return tuple(dict.fromkeys(one for one in listed if one is not None))


def _read_by(stage: Stage) -> set[str]:
    return {
        name
        for pipeline in (*stage.base, *stage.recursive)
        for name, _ in demanded(pipeline.plan.steps)
    }
