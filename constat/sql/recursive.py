"""A linear recursive stage as one recursive common table expression.

In: a stage each rule of which reads the stage at most once, and reads there what the last round
added. Out: its relations, rows distinct. Invariant: `UNION` drops what is known already, so a row
is the last round's exactly once. Several predicates share one expression: a tag says whose row it
is, and its values stand in the columns of their types, the others being NULL. Example: `path` over
`edge` is `WITH RECURSIVE r(c0, c1) AS (... UNION ...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.plan.adornment import demanded
from constat.plan.forward import Reading
from constat.sql import changes, trees
from constat.sql.heads import MOST_AT_ONCE, Heads, need_distinct, nothing, standing_alone
from constat.sql.layouts import columns_of
from constat.sql.pipelines import PipelineText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.plan.forward import Relation, Stage
    from constat.sql.database import Database
    from constat.sql.functions import Outside
    from constat.sql.rows import Tables

LABEL: Final = "recursion"
_TAG: Final = "tag"
# Bytes of a value, and of the entry of a row in the table of a join.
_COLUMN: Final = 8
_ENTRY: Final = 40


@dataclass(frozen=True, slots=True)
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
    starts = [_tagged(shape, name, one) for name, listed in base.items() for one in listed]
    steps = [_tagged(shape, name, one) for name, one in recursive]
    body = trees.union(
        [_one(starts, "b"), _one(steps, "s")],
        distinct=True,
    )
    query = trees.everything(trees.table(LABEL))
    labels = [*([_TAG] if shape.tagged else []), *shape.labels]
    trees.recursive(query, LABEL, labels, body)
    return query


def compute(database: Database, stage: Stage) -> None:
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
        rows = database.connection.change(changes.create(table, query))
    finally:
        heads.close()
    if not shape.tagged:
        database.replace(stage.predicates[0], table, rows)
        return
    for name in stage.predicates:
        part = database.fresh_name(name)
        rows = database.connection.change(changes.create(part, rows_of(shape, name, table)))
        database.replace(name, part, rows)
    database.connection.run(changes.drop(table))


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


def _tagged(shape: Shape, name: str, query: exp.Query) -> exp.Query:
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
