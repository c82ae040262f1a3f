"""Compute a stage by one strategy, and report.

In: a database that holds what the stage reads. Out: its relations in the database, and what it
took. Invariant: a strategy that fails leaves the relations as they were before, but for rows that
the rules state outright. Example: `run_stage(database, plan, stage, Strategy.CTE)`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from constat.evaluation import (
    PipelineReport,
    ResourceError,
    StageReport,
    StrategyError,
    ignore_event,
)
from constat.plan.forward import Strategy
from constat.sql import recursive, single
from constat.sql.failure import ValueFailureError
from constat.sql.layouts import columns_of
from constat.sql.pipelines import PipelineText
from constat.sql.rounds import Rounds

if TYPE_CHECKING:
    from constat.evaluation import Observer
    from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage
    from constat.sql.database import Database

_BYTES = 8
_TEXT_BYTES = 16


def run_stage(  # noqa: PLR0913  the switches are named
    database: Database,
    plan: ForwardPlan,
    stage: Stage,
    strategy: Strategy,
    *,
    analyze: bool = False,
    stamps: bool = False,
    observe: Observer = ignore_event,
) -> StageReport:
    """Compute the relations of a stage.

    `analyze` counts the bindings after each step, which costs about as much again. `stamps` keeps
    for each row the round in which it first came, which rounds of statements can do: they are taken
    instead of one expression. Raises `StrategyError` where the strategy cannot give the exact
    answer, `ResourceError` at a bound.
    """
    started = time.monotonic()
    for name in stage.predicates:
        database.declare(plan.relations[name])
    database.connection.seal()
    if stamps and strategy is Strategy.CTE:
        strategy = Strategy.LOOP
    rounds = Rounds(database, stage, observe, analyze, stamps)
    try:
        _attempt(database, stage, strategy, rounds)
    except ValueFailureError:
        # Perhaps DuckDB computed something for rows that an earlier step removes.
        rounds = Rounds(database, stage, observe, analyze, stamps)
        _attempt(database, stage, strategy, rounds, careful=True)
    if stamps and strategy is Strategy.STATEMENT:
        for name in stage.predicates:
            database.stamp(name, database.stored(name).table, 0)
    sizes = {name: database.estimate(name) for name in stage.predicates}
    reports = _pipelines(database, stage, rounds) if analyze else ()
    return StageReport(
        number=stage.number,
        strategy=strategy.value,
        rounds=rounds.rounds,
        rows=sizes,
        seconds=time.monotonic() - started,
        bytes=sum(_width(plan.relations[name]) * rows for name, rows in sizes.items()),
        pipelines=reports,
    )


def _attempt(
    database: Database,
    stage: Stage,
    strategy: Strategy,
    rounds: Rounds,
    *,
    careful: bool = False,
) -> None:
    database.careful = careful
    try:
        database.guarded(lambda: _compute(database, stage, strategy, rounds))
    except RecursionError:
        raise StrategyError("a rule is too long for one SQL statement") from None
    except BaseException:
        with suppress(StrategyError, ResourceError):
            rounds.drop()
        raise
    finally:
        database.careful = False


def _compute(database: Database, stage: Stage, strategy: Strategy, rounds: Rounds) -> None:
    match strategy:
        case Strategy.STATEMENT if not stage.recursive:
            single.compute(database, stage)
        case Strategy.CTE if stage.recursive:
            recursive.compute(database, stage)
        case Strategy.LOOP:
            rounds.compute()
        case _:
            raise StrategyError(f"SQL has no strategy {strategy.value} for this stage")


def _width(relation: Relation) -> int:
    texts = [str(kind) == "TEXT" for _, kind in columns_of(relation)]
    return sum(_TEXT_BYTES if one else _BYTES for one in texts)


def _pipelines(database: Database, stage: Stage, rounds: Rounds) -> tuple[PipelineReport, ...]:
    """Count the bindings after each step of each rule, over all rounds.

    In one expression each row is the last round's once: the rules read the finished relations.
    """
    found = [_counted(database, pipeline) for pipeline in stage.base]
    for number, pipeline in enumerate(stage.recursive):
        counts = rounds.counts.get(number)
        if counts is None:
            found.append(_counted(database, pipeline))
        else:
            found.append(PipelineReport(pipeline.plan.rule, tuple(counts)))
    return tuple(found)


def _counted(database: Database, pipeline: Pipeline) -> PipelineReport:
    counts = []
    for steps in range(1, len(pipeline.plan.steps) + 1):
        query = PipelineText(database, database).count(pipeline, steps)
        counts.append(int(str(database.connection.run(query)[0][0])))
    return PipelineReport(pipeline.plan.rule, tuple(counts))
