"""Compute the stages of a plan, each by the first strategy that can give the exact answer.

In: a plan whose inputs are loaded. Out: its relations in the database, and a report for each stage.
Invariants: what a strategy did before it gave up does not count; the reference engine is the last
choice of every stage and can compute all of them. Example: a stage whose sum leaves 64 bits is
tried as a statement, then given to the reference engine, which says that its rows are open.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.evaluation import (
    MemoryNeededError,
    ResourceError,
    StageFinished,
    StageReport,
    StrategyError,
)
from constat.forward.reference import OpenStageError, stage_rows
from constat.plan.adornment import demanded
from constat.plan.forward import Strategy
from constat.sql.failure import ValueFailureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from constat.columnar import Columns
    from constat.forward.inputs import Options
    from constat.forward.reference import Bounds
    from constat.forward.stored import StoredRelations
    from constat.plan.forward import ForwardPlan, Stage
    from constat.sql import Database

_BY_ARRAYS = frozenset({Strategy.BITMAP, Strategy.RUNS})
_BYTES = 8


class ErringStageError(Exception):
    """A value of a stage cannot be computed, and nobody has looked which."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(f"stage {stage.number} errs")
        self.stage = stage


@dataclass(slots=True)
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
        for strategy in _choices(stage, self.options.strategy):
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

    def _may_spill(self, stage: Stage, strategy: Strategy) -> bool:
        """Whether rounds of statements are still to be tried, which need no more than the disk."""
        choices = _choices(stage, self.options.strategy)
        later = choices[choices.index(strategy) + 1 :]
        return Strategy.LOOP in later and self.database.connection.spills

    def _by(self, stage: Stage, strategy: Strategy) -> StageReport:
        if strategy is Strategy.REFERENCE:
            return self._by_reference(stage)
        if strategy in _BY_ARRAYS:
            return self._by_arrays(stage, strategy)
        sql = importlib.import_module("constat.sql")
        report: StageReport = sql.run_stage(
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

    def _by_arrays(self, stage: Stage, strategy: Strategy) -> StageReport:
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
        )
        arrays: Mapping[str, Columns] = found
        for name, columns in arrays.items():
            # With stamps the last column is the round.
            self.database.store_columns(name, columns[: self.plan.relations[name].arity])
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

    def _resources(self) -> object:
        return replace(self.options.resources, seconds=self.bounds.clock.left)


def _columnar() -> ModuleType:
    # It loads numpy, which only some plans need.
    return importlib.import_module("constat.columnar")


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
