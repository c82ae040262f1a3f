"""Compute the stages of a plan on a Spark server, and bring what is wanted here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ResourceError, StageFinished, StrategyError
from constat.forward.inputs import Files, Placed
from constat.spark import (
    SparkConnection,
    SparkFailureError,
    SparkRelations,
    SparkTables,
    fetch,
    load_files,
    load_table,
    run_stage,
    send,
    statements,
    unsupported,
    way_of,
    write_there,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.evaluation import StageReport
    from constat.forward.gathering import Gathered
    from constat.forward.stages import StageRun
    from constat.plan.forward import ForwardPlan, Stage

# No other engine takes over what Spark leaves: its rows lie there because they are too many to be
# here. So what it would not compute exactly is said before anything is read.

_REFUSED = 78


def compute_on_spark(run: StageRun, sources: Mapping[str, Gathered]) -> dict[str, int]:
    """Compute all stages of a plan; the wanted relations are in the run's database then.

    Or they are where the server wrote them: then it gives how many rows each has.

    Raises `ConstatError` for what Spark cannot compute exactly, and where it fails.
    """
    setting = run.options.spark
    if setting is None:
        raise AssertionError("nobody asked for Spark")
    against = unsupported(run.plan, SparkTables(run.plan))
    if against:
        raise _unsupported(against)
    connection = SparkConnection(setting, run.options.resources)
    try:
        relations = SparkRelations(run.plan, connection)
        for name in run.plan.inputs:
            _load(run, relations, name, sources[name])
        for stage in run.plan.stages:
            connection.check()
            report = _computed(run, relations, stage)
            run.reports.append(report)
            _tell(run, stage, report)
        wanted = list(dict.fromkeys(one.relation for one in run.plan.wanted))
        if setting.results:
            predicates = run.plan.program.program.predicates
            return {
                name: write_there(relations, name, predicates[name].columns, setting.results)
                for name in wanted
            }
        for name in wanted:
            fetch(relations, run.database, name)
    except SparkFailureError as problem:
        raise failed(str(problem), ours=problem.ours) from None
    finally:
        connection.close()
    return {}


def _load(run: StageRun, relations: SparkRelations, name: str, gathered: Gathered) -> None:
    predicate = gathered.predicate
    match gathered.source:
        case Placed(where):
            load_table(relations, predicate, where)
        case Files(files) if relations.connection.is_shared and load_files(
            relations, predicate, files
        ):
            pass
        case Files():
            try:
                gathered.load(run.database, name)
            except StrategyError as problem:
                raise failed(f"{name}: {problem}", ours=True) from None
            send(relations, run.database, name)
        case _:
            send(relations, run.database, name)


def _computed(run: StageRun, relations: SparkRelations, stage: Stage) -> StageReport:
    try:
        return run_stage(relations, stage, run.options.resources, observe=run.bounds.observe)
    except StrategyError as problem:
        raise failed(str(problem), ours=True) from None
    except SparkFailureError as problem:
        names = ", ".join(stage.predicates)
        raise failed(f"{names}: {problem}", ours=problem.ours) from None


def _tell(run: StageRun, stage: Stage, report: StageReport) -> None:
    rows = sum(report.rows.values())
    total = len(run.plan.stages)
    names = stage.predicates
    run.bounds.observe(
        StageFinished(
            stage.number, total, names, report.strategy, report.rounds, rows, report.seconds
        )
    )
    if rows > run.bounds.rows:
        raise ResourceError(f"the limit of {run.bounds.rows:,} rows was reached", "rows")


def _unsupported(against: Mapping[str, str]) -> ConstatError:
    found = [
        Diagnostic(
            "C0681",
            f"rule {rule} is not computed by Spark: {why}",
            note="what Spark would compute differently is refused, never computed differently",
            help="compute it with `--engine forward`, or without that rule",
        )
        for rule, why in against.items()
    ]
    return ConstatError(found, exit_code=_REFUSED)


def failed(reason: str, *, ours: bool) -> ConstatError:
    """Give the error for a computation that ended on the server."""
    note = "a value could not be computed exactly" if ours else "nothing that it did counts"
    edit = (
        "`--engine forward` says which rule and which values"
        if ours
        else "look into the log of the server"
    )
    message = f"Spark did not finish: {reason}"
    return ConstatError([Diagnostic("C0682", message, note=note, help=edit)])


def lines_for_spark(plan: ForwardPlan, stage: Stage) -> Iterator[str]:
    """Say how Spark computes a stage: the way, then each statement with what it is for."""
    tables = SparkTables(plan)
    yield way_of(plan, stage)
    against = unsupported(plan, tables)
    own = {
        plan.program.rules[one.plan.rule].id for one in (*stage.base, *stage.recursive)
    } & against.keys()
    if own:
        yield from (f"refuses {rule}: {against[rule]}" for rule in sorted(own))
        return
    for label, text in statements(plan, stage, tables):
        yield f"{label}: {text}"
