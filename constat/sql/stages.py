"""A stage as SQL: one statement, a recursive table expression, or rounds of statements."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    PipelineReport,
    ResourceError,
    RoundFinished,
    StageReport,
    StrategyError,
    ignore_event,
)
from constat.frozen import frozen, slotted
from constat.plan import Fold, Join
from constat.plan.forward import Reading, Strategy
from constat.plan.planning import demanded
from constat.sql import trees
from constat.sql.connection import ValueFailureError
from constat.sql.loading import enter_texts
from constat.sql.pipelines import PipelineText, Touched, touched_groups
from constat.sql.relations import numbered_rows
from constat.sql.trees import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlglot import exp

    from constat.evaluation import Observer
    from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage
    from constat.sql.database import Database
    from constat.sql.pipelines import HeadRows, Tables
    from constat.sql.trees import Outside

# Where a pipeline computes a text whose column wants numbers, its rows are put into a table first,
# and its new texts into the dictionary.

MOST_AT_ONCE: Final = 64
"""How many rules one statement unites."""


class Heads:
    """Collects the rows of pipelines; `close` drops the tables that were needed for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables: list[str] = []

    def rows(self, head: HeadRows, relation: Relation) -> exp.Query:
        """The rows of one pipeline, with numbers where they are wanted."""
        if not head.texts:
            return head.query
        table = self._database.fresh_name(f"texts {relation.name}")
        self._tables.append(table)
        self._database.connection.run(trees.create(table, head.query))
        enter_texts(self._database, table, head.texts)
        return numbered_rows(table, relation.arity, head.texts, distinct=False)

    def few(self, queries: Sequence[exp.Query], relation: Relation) -> Sequence[exp.Query]:
        """The same rows from few queries: those of many are put into a table, part by part.

        Each part of a union has buffers of its own, so thousands of them need gigabytes.
        """
        if len(queries) <= MOST_AT_ONCE:
            return queries
        table = self._database.fresh_name(f"parts {relation.name}")
        self._tables.append(table)
        connection = self._database.connection
        connection.run(trees.create_empty(table, columns_of(relation)))
        for start in range(0, len(queries), MOST_AT_ONCE):
            part = queries[start : start + MOST_AT_ONCE]
            rows = all_rows(part, relation=relation, distinct=True)
            connection.run(trees.insert(table, rows))
        return [trees.everything(trees.table(table))]

    def close(self) -> None:
        """Drop what was needed."""
        for table in self._tables:
            self._database.connection.run(trees.drop(table))
        self._tables.clear()


def all_rows(queries: Sequence[exp.Query], *, relation: Relation, distinct: bool) -> exp.Select:
    """The rows of all queries, perhaps each once."""
    labels = [label for label, _ in columns_of(relation)]
    source = trees.nested(trees.union([standing_alone(one) for one in queries]), "u")
    outputs = [(label, trees.column("u", label)) for label in labels]
    return trees.select(outputs, source=source, distinct=distinct)


def standing_alone(query: exp.Query) -> exp.Query:
    """A query that may stand inside a union: common tables of its own are hidden."""
    if query.args.get("with_") is None:
        return query
    return trees.everything(trees.nested(query, "w"))


def nothing(relation: Relation) -> exp.Select:
    """No rows, with the columns of a relation."""
    never = trees.binary("=", trees.integer(0), trees.integer(1))
    outputs = [(label, trees.cast(trees.null(), kind)) for label, kind in columns_of(relation)]
    return trees.select(outputs, where=[never])


def need_distinct(database: Database, pipelines: Iterable[Pipeline]) -> None:
    """Make the relations sets that aggregates count the rows of."""
    for pipeline in pipelines:
        for step in pipeline.plan.steps:
            if isinstance(step, Fold):
                for inner in step.steps:
                    if isinstance(inner, Join):
                        database.make_distinct(inner.predicate)


# The relation is replaced as a whole at the end, so a failure leaves it as it was.


def compute(database: Database, stage: Stage) -> None:
    """Compute all relations of the stage."""
    need_distinct(database, stage.base)
    for name in stage.predicates:
        rows = stage.stated.get(name, ())
        if rows:
            database.load_rows(name, rows)
        _compute_one(database, stage, name)


def _compute_one(database: Database, stage: Stage, name: str) -> None:
    relation = database.relation(name)
    stored = database.stored(name)
    heads = Heads(database)
    queries: list[exp.Query] = []
    if database.estimate(name):
        queries.append(database.whole(stored))
    for pipeline in stage.base:
        if pipeline.head == name:
            written = PipelineText(database, database)
            queries.append(heads.rows(written.head(pipeline), relation))
    table = database.fresh_name(name)
    try:
        queries = list(heads.few(queries, relation))
        query = all_rows(queries or [nothing(relation)], relation=relation, distinct=True)
        rows = database.connection.change(trees.create(table, query))
    finally:
        heads.close()
    database.replace(name, table, rows)


# `UNION` drops what is known already, so a row is the last round's exactly once. Several
# predicates share one expression: a tag says whose row it is, and its values stand in the columns
# of their types, the others being NULL.

LABEL: Final = "recursion"
_TAG: Final = "tag"
# Bytes of a value, and of the entry of a row in the table of a join.
_COLUMN: Final = 8
_ENTRY: Final = 40


@frozen
class Shape:
    """The columns of the expression, and where those of each predicate are among them."""

    labels: tuple[str, ...]
    kinds: tuple[exp.DataType, ...]
    places: dict[str, tuple[int, ...]]
    tags: dict[str, int]

    @property
    def tagged(self) -> bool:
        """Whether several predicates share the expression."""
        return len(self.tags) > 1


def shape_of(relations: Sequence[Relation]) -> Shape:
    """Lay out the columns: as few of each type as the widest predicate needs."""
    kinds: list[exp.DataType] = []
    places: dict[str, tuple[int, ...]] = {}
    for relation in relations:
        free = list(range(len(kinds)))
        taken = []
        for _, kind in columns_of(relation):
            place = next((one for one in free if kinds[one] == kind), len(kinds))
            if place == len(kinds):
                kinds.append(kind)
            else:
                free.remove(place)
            taken.append(place)
        places[relation.name] = tuple(taken)
    labels = tuple(f"c{place}" for place in range(len(kinds)))
    tags = {relation.name: number for number, relation in enumerate(relations)}
    return Shape(labels, tuple(kinds), places, tags)


class _Inside:
    """Where the recursive rules find rows: those of the last round, and finished relations."""

    def __init__(self, tables: Tables, shape: Shape) -> None:
        self._tables = tables
        self._shape = shape

    def relation(self, predicate: str) -> Relation:
        """What the plan says of a relation."""
        return self._tables.relation(predicate)

    def read(self, predicate: str, reading: Reading, alias: str) -> exp.Expr:
        """The rows of a relation."""
        if predicate not in self._shape.tags:
            return self._tables.read(predicate, reading, alias)
        if reading is not Reading.DELTA:
            raise StrategyError("a rule reads more of the recursion than its last round")
        if not self._shape.tagged:
            return trees.table(LABEL, alias)
        return trees.nested(rows_of(self._shape, predicate, LABEL), alias)


def rows_of(shape: Shape, predicate: str, table: str) -> exp.Select:
    """The rows of one predicate among those of all."""
    outputs = [
        (f"c{column}", trees.column(table, shape.labels[place]))
        for column, place in enumerate(shape.places[predicate])
    ]
    tag = trees.binary("=", trees.column(table, _TAG), trees.integer(shape.tags[predicate]))
    return trees.select(outputs, source=trees.table(table), where=[tag] if shape.tagged else [])


def expression(
    shape: Shape,
    base: dict[str, list[exp.Query]],
    recursive: Sequence[tuple[str, exp.Query]],
) -> exp.Query:
    """The whole recursive expression, and all of its rows as the query."""
    starts = [tagged(shape, name, one) for name, listed in base.items() for one in listed]
    steps = [tagged(shape, name, one) for name, one in recursive]
    return step_rows(shape, starts, _one(steps, "s"))


def step_rows(shape: Shape, starts: Sequence[exp.Query], step: exp.Query) -> exp.Query:
    """The rows of the recursive expression that begins and goes on like this."""
    body = trees.union([_one(starts, "b"), step], distinct=True)
    query = trees.everything(trees.table(LABEL))
    labels = [*([_TAG] if shape.tagged else []), *shape.labels]
    trees.recursive(query, LABEL, labels, body)
    return query


def compute_by_one_query(database: Database, stage: Stage) -> None:
    """Compute all relations of the stage."""
    relations = [database.relation(name) for name in stage.predicates]
    shape = shape_of(relations)
    if len(stage.recursive) > MOST_AT_ONCE:
        raise StrategyError("more recursive rules than one expression takes")
    need_distinct(database, stage.base)
    _need_memory(database, stage)
    heads = Heads(database)
    try:
        base = {one.name: _base(database, stage, one, heads) for one in relations}
        query = expression(shape, base, recursive_queries(database, database, stage, shape))
        table = database.fresh_name("recursion")
        rows = database.connection.change(trees.create(table, query))
    finally:
        heads.close()
    if not shape.tagged:
        database.replace(stage.predicates[0], table, rows)
        return
    for name in stage.predicates:
        part = database.fresh_name(name)
        rows = database.connection.change(trees.create(part, rows_of(shape, name, table)))
        database.replace(name, part, rows)
    database.connection.run(trees.drop(table))


def _need_memory(database: Database, stage: Stage) -> None:
    """Refuse a stage whose rounds would join more than the memory holds.

    DuckDB 2.0.0 ends the whole process where a join inside a recursive expression begins to spill.
    """
    connection = database.connection
    read = {
        name
        for pipeline in stage.recursive
        for name, _ in demanded(pipeline.plan.steps)
        if name not in stage.predicates
    }
    width = {name: len(columns_of(database.relation(name))) * _COLUMN + _ENTRY for name in read}
    size = sum(database.estimate(name) * width[name] for name in read)
    if connection.spills and size > connection.memory:
        raise StrategyError("what it joins in each round does not fit into the memory")


def recursive_queries(
    outside: Outside, tables: Tables, stage: Stage, shape: Shape
) -> list[tuple[str, exp.Query]]:
    """The rows that each recursive rule makes of the last round, with their predicate."""
    found: list[tuple[str, exp.Query]] = []
    for pipeline in stage.recursive:
        written = PipelineText(outside, _Inside(tables, shape)).head(pipeline)
        if written.texts:
            raise StrategyError("a recursive rule makes texts")
        found.append((pipeline.head, standing_alone(written.query)))
    return found


def _base(database: Database, stage: Stage, relation: Relation, heads: Heads) -> list[exp.Query]:
    rows = stage.stated.get(relation.name, ())
    if rows:
        database.load_rows(relation.name, rows)
    stored = database.stored(relation.name)
    queries: list[exp.Query] = []
    if database.estimate(relation.name):
        queries.append(database.whole(stored))
    for pipeline in stage.base:
        if pipeline.head == relation.name:
            written = PipelineText(database, database).head(pipeline)
            queries.append(heads.rows(written, relation))
    return [*heads.few(queries, relation)] or [nothing(relation)]


def tagged(shape: Shape, name: str, query: exp.Query) -> exp.Query:
    """The rows of a predicate in the columns of all."""
    source = trees.nested(query, "p")
    outputs: list[tuple[str, exp.Expr]] = []
    if shape.tagged:
        outputs.append((_TAG, trees.cast(trees.integer(shape.tags[name]), trees.typed("INT"))))
    elif shape.places[name] == tuple(range(len(shape.labels))):
        return standing_alone(query)
    columns = {place: column for column, place in enumerate(shape.places[name])}
    for place, (label, kind) in enumerate(zip(shape.labels, shape.kinds, strict=True)):
        node: exp.Expr = trees.cast(trees.null(), kind)
        if place in columns:
            node = trees.column("p", f"c{columns[place]}")
        outputs.append((label, node))
    return trees.select(outputs, source=source)


def _one(queries: Sequence[exp.Query], alias: str) -> exp.Query:
    if len(queries) == 1:
        return queries[0]
    return trees.everything(trees.nested(trees.union(queries), alias))


# `new` holds each row once, and none that is known; a row is `delta` in exactly one round. What is
# new is found by an anti-join against what is known: of the forms that were measured the fastest
# by far. A rule that reads the stage twice could leave the last round out at its earlier place; it
# reads all rows there, because to keep them apart costs more than to find a few rows twice
# (measured: twice the time).
# A threshold on an aggregate over the stage itself is computed again in each round, for the groups
# that the last round touched (in the first round for all), and for the bindings that it added.


@frozen
class Names:
    """The tables of one relation while the rounds run."""

    full: str
    delta: str
    new: str


class RoundTables:
    """Where the rules of a round find rows."""

    def __init__(self, tables: Tables, names: dict[str, Names]) -> None:
        self._tables = tables
        self.names = names

    def relation(self, predicate: str) -> Relation:
        """What the plan says of a relation."""
        return self._tables.relation(predicate)

    def read(self, predicate: str, reading: Reading, alias: str) -> exp.Expr:
        """The rows of a relation."""
        names = self.names.get(predicate)
        if names is None:
            return self._tables.read(predicate, reading, alias)
        return trees.table(names.delta if reading is Reading.DELTA else names.full, alias)


@frozen
class Variant:
    """A rule as one round computes it: what it reads of the last round, and for which groups."""

    pipeline: Pipeline
    reads: frozenset[str]
    touched: Touched | None = None
    first_only: bool = False


def variants_of(
    outside: Outside, tables: RoundTables, pipeline: Pipeline, own: frozenset[str]
) -> Iterator[Variant]:
    """The ways in which rows of the last round can make the rule give a new row."""
    at = next(
        (
            number
            for number, step in enumerate(pipeline.plan.steps)
            if isinstance(step, Fold) and step.threshold is not None
        ),
        None,
    )
    if at is None:
        yield Variant(pipeline, frozenset(_delta_reads(pipeline)))
        return
    yield Variant(pipeline, frozenset(), first_only=True)
    for number, step in enumerate(pipeline.plan.steps):
        if isinstance(step, Join) and step.predicate in own:
            readings = _with_delta(pipeline.readings, number)
            yield Variant(replace(pipeline, readings=readings), frozenset({step.predicate}))
    yield from _touching(outside, tables, pipeline, at, own)


def _touching(
    outside: Outside, tables: RoundTables, pipeline: Pipeline, at: int, own: frozenset[str]
) -> Iterator[Variant]:
    """Compute the groups that a row of the last round is in; all groups where nobody can say."""
    step = pipeline.plan.steps[at]
    if not isinstance(step, Fold):
        return
    for number, inner in enumerate(step.steps):
        if isinstance(inner, Join) and inner.predicate in own:
            readings = _with_delta((Reading.FULL,) * len(step.steps), number)
            writer = PipelineText(outside, tables)
            groups = touched_groups(writer, step, pipeline.inner[at], readings)
            touched = None if groups is None else Touched(at, groups)
            yield Variant(pipeline, frozenset({inner.predicate}), touched)


def _with_delta(readings: Sequence[Reading], number: int) -> tuple[Reading, ...]:
    return (*readings[:number], Reading.DELTA, *readings[number + 1 :])


def _delta_reads(pipeline: Pipeline) -> Iterator[str]:
    for step, reading in zip(pipeline.plan.steps, pipeline.readings, strict=True):
        if isinstance(step, Join) and reading is Reading.DELTA:
            yield step.predicate


@slotted
class Rounds:
    """Runs the rounds of one stage. `counts[i][j]`: bindings after step j of recursive rule i.

    `alone[i]` are the seconds that the last of these counts took, `counting` those of all of them.
    """

    database: Database
    stage: Stage
    observe: Observer
    analyze: bool = False
    stamps: bool = False
    rounds: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)
    alone: dict[int, float] = field(default_factory=dict)
    counting: float = 0.0
    _names: dict[str, Names] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _deltas: dict[str, int] = field(default_factory=dict)
    _written: dict[tuple[str, frozenset[int]], str] = field(default_factory=dict)
    _promotions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _variants: list[Variant] = field(default_factory=list)

    def compute(self) -> None:
        """Compute all relations of the stage."""
        need_distinct(self.database, (*self.stage.base, *self.stage.recursive))
        for name in self.stage.predicates:
            self._start(name)
        tables = RoundTables(self.database, self._names)
        own = frozenset(self.stage.predicates)
        for pipeline in self.stage.recursive:
            self._variants.extend(variants_of(self.database, tables, pipeline, own))
        first = True
        while first or any(self._deltas.values()):
            self._round(tables, first=first)
            first = False
        for name, names in self._names.items():
            self.database.connection.run(trees.drop(names.delta))
            self.database.replace(name, names.full, self._sizes[name])

    def drop(self) -> None:
        """Take the tables away after a failure."""
        for names in self._names.values():
            for table in (names.full, names.delta, names.new):
                self.database.connection.run(trees.drop(table))

    def _start(self, name: str) -> None:
        database = self.database
        full = database.fresh_name(name)
        names = self._names[name] = Names(full, f"{full}_delta", f"{full}_new")
        self._promotions[name] = tuple(map(database.connection.written, promotion(names)))
        relation = database.relation(name)
        rows = self.stage.stated.get(name, ())
        if rows:
            database.load_rows(name, rows)
        heads = Heads(database)
        try:
            queries: list[exp.Query] = [database.whole(database.stored(name))]
            for pipeline in self.stage.base:
                if pipeline.head == name:
                    written = PipelineText(database, database).head(pipeline)
                    queries.append(heads.rows(written, relation))
            queries = list(heads.few(queries, relation))
            query = all_rows(queries, relation=relation, distinct=True)
            size = database.connection.change(trees.create(names.full, query))
        finally:
            heads.close()
        copy = trees.everything(trees.table(names.full))
        database.connection.run(trees.create(names.delta, copy))
        self._sizes[name] = self._deltas[name] = size
        if self.stamps:
            database.stamp(name, names.delta, 0)

    def _round(self, tables: RoundTables, *, first: bool) -> None:
        if self.analyze:
            self._count(tables)
        found = {name: self._new_rows(tables, name, first=first) for name in self._names}
        total = sum(count or 0 for count in found.values())
        for name, count in found.items():
            if total:
                self._promote(name, count)
            else:
                self._deltas[name] = 0
                self.database.connection.run(trees.drop(self._names[name].new))
        if total:
            self.rounds += 1
            self.observe(RoundFinished(self.stage.predicates, self.rounds, total))
        self._check_bounds()

    def _new_rows(self, tables: RoundTables, name: str, *, first: bool) -> int | None:
        """Make the table of new rows, unless there can be none; give how many there are."""
        active = frozenset(
            number
            for number, variant in enumerate(self._variants)
            if variant.pipeline.head == name
            and (first if variant.first_only else any(self._deltas[one] for one in variant.reads))
        )
        if not active:
            return None
        heads = Heads(self.database)
        try:
            written = self._written.get((name, active))
            if written is None:
                statement, lasting = self._statement(tables, name, active, heads)
                written = self.database.connection.written(statement)
                if lasting:
                    self._written[name, active] = written
            return self.database.connection.change_written(written)
        finally:
            heads.close()

    def _statement(
        self, tables: RoundTables, name: str, active: frozenset[int], heads: Heads
    ) -> tuple[exp.Expr, bool]:
        """The statement that makes the table of new rows, and whether it stays right."""
        relation = self.database.relation(name)
        queries: list[exp.Query] = []
        lasting = True
        for number in sorted(active):
            variant = self._variants[number]
            written = PipelineText(self.database, tables).head(
                variant.pipeline, touched=variant.touched
            )
            lasting = lasting and not written.texts
            queries.append(standing_alone(heads.rows(written, relation)))
        lasting = lasting and len(queries) <= MOST_AT_ONCE
        query = new_rows(relation, heads.few(queries, relation), self._names[name])
        return trees.create(self._names[name].new, query), lasting

    def _promote(self, name: str, count: int | None) -> None:
        """Make the new rows those of the last round; without a table there are none."""
        if count is None:
            if self._deltas[name]:
                self.database.connection.run(trees.empty(self._names[name].delta))
                self._deltas[name] = 0
            return
        adding, *moving = self._promotions[name]
        for written in (*((adding,) if count else ()), *moving):
            self.database.connection.change_written(written)
        self._deltas[name] = count
        self._sizes[name] += count
        if self.stamps and count:
            self.database.stamp(name, self._names[name].delta, self.rounds + 1)

    def _check_bounds(self) -> None:
        resources = self.database.resources
        self.database.connection.check()
        if self.rounds > resources.rounds:
            raise ResourceError(f"the limit of {resources.rounds:,} rounds was reached")
        if sum(self._sizes.values()) > resources.rows:
            raise ResourceError(f"the limit of {resources.rows:,} rows was reached", "rows")

    def _count(self, tables: RoundTables) -> None:
        started = time.monotonic()
        for number, pipeline in enumerate(self.stage.recursive):
            totals = self.counts.setdefault(number, [0] * len(pipeline.plan.steps))
            found, seconds = _count_steps(self.database, tables, pipeline)
            totals[:] = [total + count for total, count in zip(totals, found, strict=True)]
            self.alone[number] = self.alone.get(number, 0.0) + seconds
        self.counting += time.monotonic() - started


def promotion(names: Names) -> tuple[exp.Expr, ...]:
    """Add the new rows to all rows, and make them those of the last round."""
    return (
        trees.insert(names.full, trees.everything(trees.table(names.new))),
        trees.drop(names.delta),
        trees.rename(names.new, names.delta),
    )


def new_rows(relation: Relation, queries: Sequence[exp.Query], names: Names) -> exp.Select:
    """The rows that are not known yet, each once."""
    labels = [label for label, _ in columns_of(relation)]
    source = trees.nested(trees.union(queries or [nothing(relation)]), "u")
    same = [
        trees.binary("=", trees.column("f", label), trees.column("u", label)) for label in labels
    ]
    known = trees.select(
        [("found", trees.integer(1))], source=trees.table(names.full, "f"), where=same
    )
    conditions = [trees.opposite(trees.exists(known))]
    outputs = [(label, trees.column("u", label)) for label in labels]
    return trees.select(outputs, source=source, where=conditions, distinct=True)


# A strategy that fails leaves the relations as they were before, but for rows that the rules state
# outright.

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

    `analyze` counts the bindings after each step, which costs about as much again, and is not part
    of the time that is reported. `stamps` keeps for each row the round in which it first came,
    which rounds of statements can do: they are taken instead of one expression. Raises
    `StrategyError` where the strategy cannot give the exact answer, `ResourceError` at a bound.
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
    seconds = time.monotonic() - started - rounds.counting
    reports = _pipelines(database, stage, rounds) if analyze else ()
    return StageReport(
        number=stage.number,
        strategy=strategy.value,
        rounds=rounds.rounds,
        rows=sizes,
        seconds=seconds,
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
            compute(database, stage)
        case Strategy.CTE if stage.recursive:
            compute_by_one_query(database, stage)
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
            alone = rounds.alone[number]
            found.append(PipelineReport(pipeline.plan.rule, tuple(counts), alone))
    return tuple(found)


def _counted(database: Database, pipeline: Pipeline) -> PipelineReport:
    counts, seconds = _count_steps(database, database, pipeline)
    return PipelineReport(pipeline.plan.rule, tuple(counts), seconds)


def _count_steps(
    database: Database, tables: Database | RoundTables, pipeline: Pipeline
) -> tuple[list[int], float]:
    """Count the bindings after each step; give also how long it took after the last one."""
    counts, seconds = [], 0.0
    for steps in range(1, len(pipeline.plan.steps) + 1):
        query = PipelineText(database, tables).count(pipeline, steps)
        started = time.perf_counter()
        counts.append(int(str(database.connection.run(query)[0][0])))
        seconds = time.perf_counter() - started
    return counts, seconds
