"""Compute the stages of a plan on a server, and bring what is wanted here."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.catalog.connection import NO_VALUE
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import (
    ResourceError,
    Served,
    StageFinished,
    StageReport,
    StrategyError,
)
from constat.forward.inputs import Files, Placed, Serving
from constat.logic import Kind
from constat.plan import Fold, Join
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
from constat.sql import postgres, trees
from constat.sql.loading import take_staged
from constat.sql.trees import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.forward.gathering import Gathered, Gathering
    from constat.forward.stages import StageRun
    from constat.logic import Row, Value
    from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage

# ------------------------------------------------------------------------------------ PostgreSQL

# A server that has all relations of a plan may compute it in one query for each wanted relation.
# What it would not compute exactly is computed here, unless `--engine postgres` asks for it.

_FEW: Final = 20_000
# So many rows are kept as a list.
_LISTED: Final = 20_000
# So many times fewer rows are worth the server's time for them.
_WORTH: Final = 4
_LOOKED_UP: Final = frozenset({"min", "max"})
_ARRIVED: Final = "arrived_rows"
# Their final form is another one than that in which they arrive.
_OTHERWISE: Final = frozenset({Kind.DECIMAL, Kind.STRUCTURE, Kind.UNSIGNED})


def servers_of(inputs: Iterable[Gathered]) -> set[str]:
    """Name the servers on which inputs were left; of one that is here there is none."""
    return {one.source.server if isinstance(one.source, Served) else "" for one in inputs}


def against_serving(
    plan: ForwardPlan, gathering: Gathering, given: Sequence[str]
) -> dict[str, str]:
    """Say why a server does not compute a plan, by rule or input; nothing where it does."""
    if not given and not gathering.refused:
        return {"the goal": "it rests on no relation of a database"}
    found = {name: why for name, why in gathering.refused.items() if name in given}
    inputs = [gathering.found[name] for name in given]
    if not found and len(servers_of(inputs)) != 1:
        found = dict.fromkeys(given, "its relations do not lie in one database")
    found |= postgres.unsupported(plan)
    found = found or _not_worth(plan, gathering, given)
    return found or _doubted(plan, gathering)


def _doubted(plan: ForwardPlan, gathering: Gathering) -> dict[str, str]:
    """Ask whether the cells that are read are values; of a column that nobody reads none is."""
    found: dict[str, str] = {}
    for name in plan.inputs:
        source = gathering.found[name].source
        if isinstance(source, Served):
            _, minded = _minded(plan, name, source, gathering.served)
            why = source.doubted(postgres.columns_read(plan, name) - minded)
            found |= {name: why} if why else {}
    return found


def _minded(
    plan: ForwardPlan, name: str, place: Served, served: Serving
) -> tuple[str, frozenset[int]]:
    """Give the query of an input, and in which columns it fails itself at what is no value.

    What is asked of the server alone is refused before. The least and the greatest of all rows may
    be looked up in an index, where the server meets no others.
    """
    looked_up = any(one.function in _LOOKED_UP for one in _folds(plan))
    if place.minded is None or served is Serving.ALWAYS or looked_up:
        return place.query, frozenset()
    return place.minded(postgres.columns_read(plan, name))


def _lines(plan: ForwardPlan) -> list[Pipeline]:
    return [line for one in plan.stages for line in (*one.base, *one.recursive)]


def _joins(line: Pipeline) -> int:
    return sum(isinstance(step, Join) for step in line.plan.steps)


def _folds(plan: ForwardPlan) -> list[Fold]:
    steps = [step for line in _lines(plan) for step in line.plan.steps]
    return [step for step in steps if isinstance(step, Fold)]


def _not_worth(plan: ForwardPlan, gathering: Gathering, given: Sequence[str]) -> dict[str, str]:
    """Say why fewer rows would not be sent, or not sooner."""
    if gathering.served is Serving.ALWAYS:
        return {}
    inputs = [gathering.found[name] for name in given]
    rows = sum(one.rows or 0 for one in inputs)
    if rows <= _FEW:
        return dict.fromkeys(given, "so few rows are read sooner than their server is asked")
    if any(stage.recursive for stage in plan.stages):
        return dict.fromkeys(given, "recursion is faster here")
    if _folds(plan) or len(plan.inputs) > 1:
        return {}
    here = gathering.guess(given[0])
    # A few rows that come as they are need no database here.
    if here is not None and here <= _LISTED and all(_joins(line) <= 1 for line in _lines(plan)):
        return {}
    if here is None or _guessed(plan, gathering, given) * _WORTH > here:
        return dict.fromkeys(given, "of one relation hardly fewer rows would come")
    return {}


def _guessed(plan: ForwardPlan, gathering: Gathering, given: Sequence[str]) -> float:
    """Guess how many rows would come from a server that computes a plan."""
    found = {name: gathering.found[name].source for name in given}
    places = {name: one for name, one in found.items() if isinstance(one, Served)}
    rows = 0.0
    for name in {one.relation for one in plan.wanted}:
        query = postgres.statement(plan, {one: there.query for one, there in places.items()}, name)
        guess = places[given[0]].guessed(query)
        rows += inf if guess is None else guess
    return rows


def compute_on_server(run: StageRun, sources: Mapping[str, Gathered], served: Serving) -> None:
    """Compute a plan where its inputs lie; the wanted relations are in the run's database then.

    Raises `SourceFailureError` or `QueryMistakeError` where the server fails.
    """
    places = {name: one.source for name, one in sources.items() if isinstance(one.source, Served)}
    results = next(iter(places.values())).results
    for name in dict.fromkeys(one.relation for one in run.plan.wanted):
        started = time.monotonic()
        given = {one: _minded(run.plan, one, there, served)[0] for one, there in places.items()}
        rows = _arrived(run, results, places, given, name)
        stages = [one for one in run.plan.stages if name in one.predicates]
        number = stages[0].number if stages else 0
        way = postgres.RECURSION if _is_recursive(run.plan) else postgres.STATEMENT
        report = StageReport(
            number=number,
            strategy=way,
            rounds=0,
            rows={name: rows},
            seconds=time.monotonic() - started,
        )
        run.reports.append(report)
        for stage in stages:
            _tell(run, stage, report)


def _is_recursive(plan: ForwardPlan) -> bool:
    return any(stage.recursive for stage in plan.stages)


def _arrived(
    run: StageRun,
    results: Callable[[str, tuple[Kind, ...]], Iterator[Mapping[str, object]]],
    places: Mapping[str, Served],
    given: Mapping[str, str],
    name: str,
) -> int:
    """Bring the rows of a relation; once more with care where a value cannot be had."""
    chosen = [name for name, one in places.items() if one.chooses]
    relation = run.plan.relations[name]
    kinds = relation.kinds or (Kind.NUMBER,)
    for careful in (False, True):
        query = postgres.statement(run.plan, given, name, chosen=chosen, careful=careful)
        try:
            _take(run, relation, results(query, kinds))
        except SourceFailureError as problem:
            # Perhaps it computed something for rows that an earlier step removes.
            if careful or NO_VALUE in problem.reason or not postgres.may_fail(run.plan):
                raise
            continue
        return run.database.count(name)
    raise AssertionError("the second try raises or returns")


def _take(run: StageRun, relation: Relation, batches: Iterator[Mapping[str, Any]]) -> None:
    """Take what a server gives for the rows of a relation: as a list, where it is short."""
    database, staging = run.database, ""
    listed: list[Row] | None = [] if relation.arity and not _OTHERWISE & {*relation.kinds} else None
    waiting: list[Mapping[str, Any]] = []
    try:
        for batch in batches:
            run.bounds.clock.check()
            waiting.append(batch)
            if listed is not None:
                listed = _longer(listed, batch, relation)
            if listed is None:
                staging = staging or _begun(run, relation)
                while waiting:
                    _add(run, relation, staging, waiting.pop(0))
    except SourceFailureError:
        if staging:
            database.connection.run(trees.drop(staging))
        raise
    if listed is None:
        take_staged(database, database.stored(relation.name), staging or _begun(run, relation))
    else:
        database.list(relation.name, listed)


def _begun(run: StageRun, relation: Relation) -> str:
    staging = run.database.fresh_name(f"from server {relation.name}")
    run.database.connection.run(trees.create_empty(staging, columns_of(relation)))
    return staging


def _longer(listed: list[Row], batch: Mapping[str, Any], relation: Relation) -> list[Row] | None:
    """Add rows to a list; `None` where it grows long, or a cell is NULL."""
    columns = [batch[label] for label, _ in columns_of(relation)]
    if len(listed) + len(columns[0]) > _LISTED or any(map(np.ma.isMaskedArray, columns)):
        return None
    cells: list[list[Value]] = [one.tolist() for one in columns]
    if any(None in one for one in cells):
        return None
    listed.extend(zip(*cells, strict=True))
    return listed


def _add(run: StageRun, relation: Relation, staging: str, batch: Mapping[str, object]) -> None:
    outputs = [(label, trees.cast(trees.bare(label), kind)) for label, kind in columns_of(relation)]
    run.database.connection.register(_ARRIVED, batch)
    try:
        query = trees.select(outputs, source=trees.table(_ARRIVED))
        run.database.connection.run(trees.insert(staging, query))
    finally:
        run.database.connection.unregister(_ARRIVED)


def not_served(against: Mapping[str, str]) -> ConstatError:
    """Give the error for what PostgreSQL would not compute exactly, or not at all."""
    found = [
        Diagnostic(
            "C0681",
            f"`{name}` is not computed by PostgreSQL: {why}",
            note="what it would compute differently is refused, never computed differently",
            help="compute it with `--engine forward`",
        )
        for name, why in against.items()
    ]
    return ConstatError(found, exit_code=_REFUSED)


def failed_there(problem: SourceFailureError | QueryMistakeError) -> ConstatError:
    """Give the error for a computation that ended on PostgreSQL."""
    note = "nothing that it did counts"
    edit = "`--engine forward` says which rule and which values, if one cannot be had"
    message = f"PostgreSQL did not finish: {problem.reason}"
    return ConstatError([Diagnostic("C0682", message, note=note, help=edit)])


def lines_for_postgres(plan: ForwardPlan, stage: Stage) -> Iterator[str]:
    """Say how PostgreSQL computes a stage: the way, then its common tables."""
    yield postgres.way_of(stage)
    try:
        for label, text in list(postgres.statements(plan, stage)):
            yield f"{label}: {' '.join(text.split())}"
    except StrategyError as problem:
        yield f"refused: {problem}"


# ----------------------------------------------------------------------------------------- Spark

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
