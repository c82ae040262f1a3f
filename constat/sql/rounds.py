"""A recursive stage in rounds of statements: semi-naive evaluation against whole relations.

In: any recursive stage. Out: its relations, rows distinct. For each relation there are all rows
that are known (`full`), those that the last round added (`delta`) and those that this round adds
(`new`). Invariant: `new` holds each row once, and none that is known; a row is `delta` in exactly
one round. What is new is found by an anti-join against what is known: of the forms that were
measured the fastest by far. A rule that reads the stage twice could leave the last round out at its
earlier place; it reads all rows there, because to keep them apart costs more than to find a few
rows twice (measured: twice the time).

A threshold on an aggregate over the stage itself is computed again in each round, for the groups
that the last round touched (in the first round for all), and for the bindings that it added.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.evaluation import ResourceError, RoundFinished
from constat.plan import Fold, Join
from constat.plan.forward import Reading
from constat.sql import changes, trees
from constat.sql.folding import touched_groups
from constat.sql.heads import MOST_AT_ONCE, Heads, all_rows, need_distinct, nothing, standing_alone
from constat.sql.layouts import columns_of
from constat.sql.pipelines import PipelineText, Touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import exp

    from constat.evaluation import Observer
    from constat.plan.forward import Pipeline, Relation, Stage
    from constat.sql.database import Database
    from constat.sql.functions import Outside
    from constat.sql.rows import Tables


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
class Rounds:
    """Runs the rounds of one stage. `counts[i][j]`: bindings after step j of recursive rule i."""

    database: Database
    stage: Stage
    observe: Observer
    analyze: bool = False
    stamps: bool = False
    rounds: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)
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
            self.database.connection.run(changes.drop(names.delta))
            self.database.replace(name, names.full, self._sizes[name])

    def drop(self) -> None:
        """Take the tables away after a failure."""
        for names in self._names.values():
            for table in (names.full, names.delta, names.new):
                self.database.connection.run(changes.drop(table))

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
            size = database.connection.change(changes.create(names.full, query))
        finally:
            heads.close()
        copy = trees.everything(trees.table(names.full))
        database.connection.run(changes.create(names.delta, copy))
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
                self.database.connection.run(changes.drop(self._names[name].new))
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
        return changes.create(self._names[name].new, query), lasting

    def _promote(self, name: str, count: int | None) -> None:
        """Make the new rows those of the last round; without a table there are none."""
        if count is None:
            if self._deltas[name]:
                self.database.connection.run(changes.empty(self._names[name].delta))
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
        for number, pipeline in enumerate(self.stage.recursive):
            totals = self.counts.setdefault(number, [0] * len(pipeline.plan.steps))
            for steps in range(len(totals)):
                query = PipelineText(self.database, tables).count(pipeline, steps + 1)
                totals[steps] += int(str(self.database.connection.run(query)[0][0]))


def promotion(names: Names) -> tuple[exp.Expr, ...]:
    """Add the new rows to all rows, and make them those of the last round."""
    return (
        changes.insert(names.full, trees.everything(trees.table(names.new))),
        changes.drop(names.delta),
        changes.rename(names.new, names.delta),
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
