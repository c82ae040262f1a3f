"""A stage on Spark: one statement for each relation, or rounds that are driven from here."""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    ResourceError,
    RoundFinished,
    StageReport,
    StrategyError,
    ignore_event,
)
from constat.frozen import slotted
from constat.plan import Fold, Join
from constat.plan.forward import edge_closure
from constat.spark.connection import SparkFailureError
from constat.spark.functions import written
from constat.spark.loading import stated
from constat.sql import trees
from constat.sql.pipelines import PipelineText
from constat.sql.stages import (
    Names,
    RoundTables,
    all_rows,
    new_rows,
    nothing,
    standing_alone,
    variants_of,
)
from constat.sql.written import stated as written_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import exp

    from constat.evaluation import Observer, Resources
    from constat.plan.forward import EdgeClosure, ForwardPlan, Pipeline, Stage
    from constat.spark.relations import Part, SparkRelations, SparkTables
    from constat.sql.stages import Variant

# The closure of edges on Spark, in as few rounds as are worth it.

# P holds the pairs whose shortest path has at most L edges; its frontier F those of exactly L. A
# round adds one edge to F, which gives the pairs of L + 1; or it doubles L: F with what is older
# than F gives those of L + 1 to 2 L - 1, F with itself those of 2 L, for the beginning of a
# shortest path is a shortest path. Where F is empty no shortest path is longer, and all pairs are
# found. Each pair of a chain is so found once, where squaring all of P would find it once for each
# of its middles. On a dense graph doubling joins far more than one edge more does, so it is done
# while the pairs to join are fewer than the rounds that it saves are worth.
# See Ioannidis, On the computation of the transitive closure of relational operators (1986).

_ROUND: Final = 1_000_000
"""How many pairs are joined in the time that a round takes by itself, at least."""


@slotted
class Doubling:
    """Computes the relation of one stage; `rounds` are those that added something."""

    relations: SparkRelations
    name: str
    closure: EdgeClosure
    resources: Resources
    observe: Observer
    rounds: int = 0
    doubled: int = 0

    def compute(self) -> None:
        """Compute the relation."""
        relations = self.relations
        edges = trees.everything(trees.table(relations.tables.table(self.closure.edge)))
        frontier = relations.keep(self.name, edges)
        nodes = self._nodes()
        length = 1
        while frontier.rows:
            older = relations.stored(self.name).rows
            pairs = frontier.rows * (older + frontier.rows) / max(nodes, 1)
            self._show(frontier)
            if older and pairs <= length * _ROUND:
                between = self._found(self._delta, self._view, self._all)
                self._show(frontier, between)
                following = self._found(self._delta, self._delta, self._all)
                added = between.rows + following.rows
                relations.add(self.name, frontier)
                relations.add(self.name, between)
                length *= 2
                self.doubled += 1
            else:
                following = self._found(self._delta, self._edge, self._all)
                added = following.rows
                relations.add(self.name, frontier)
                length += 1
            frontier = following
            self._tell(added)
        relations.add(self.name, frontier)

    @property
    def _view(self) -> str:
        return self.relations.tables.table(self.name)

    @property
    def _delta(self) -> str:
        return f"{self._view}_delta"

    @property
    def _all(self) -> str:
        return f"{self._view}_all"

    @property
    def _edge(self) -> str:
        return self.relations.tables.table(self.closure.edge)

    def _show(self, frontier: Part, *more: Part) -> None:
        """Let one view read the frontier, and another everything."""
        stored = self.relations.stored(self.name)
        self.relations.show(self._delta, stored.relation, (frontier,))
        self.relations.show(self._all, stored.relation, (*stored.parts, frontier, *more))

    def _found(self, first: str, second: str, known: str) -> Part:
        """Keep what two relations compose to and is not known."""
        relation = self.relations.stored(self.name).relation
        query = new_rows(relation, [self._composed(first, second)], Names(known, "", ""))
        return self.relations.keep(self.name, query, distinct=False)

    def _composed(self, first: str, second: str) -> exp.Select:
        closure = self.closure
        arity = self.relations.stored(self.name).relation.arity
        outputs = [
            (f"c{place}", trees.column("b" if place == closure.target else "a", f"c{place}"))
            for place in range(arity)
        ]
        query = trees.select(outputs, source=trees.table(first, "a"))
        end, start = (
            trees.column("a", f"c{closure.target}"),
            trees.column("b", f"c{closure.source}"),
        )
        on = [trees.binary("=", end, start)]
        on += [
            trees.binary("=", trees.column("a", f"c{place}"), trees.column("b", f"c{place}"))
            for place in closure.groups
        ]
        trees.add_join(query, trees.table(second, "b"), on)
        return query

    def _nodes(self) -> int:
        """How many nodes an edge leaves."""
        places = (self.closure.source, *self.closure.groups)
        outputs = [(f"c{place}", trees.bare(f"c{place}")) for place in places]
        listed = trees.select(outputs, source=trees.table(self._edge), distinct=True)
        count = [("n", trees.call("count", trees.integer(1)))]
        query = trees.select(count, source=trees.nested(listed, "q"))
        return int(str(self.relations.connection.rows(query)[0][0]))

    def _tell(self, added: int) -> None:
        self.relations.connection.check()
        if added:
            self.rounds += 1
            self.observe(RoundFinished((self.name,), self.rounds, added))
        if self.rounds > self.resources.rounds:
            raise ResourceError(f"the limit of {self.resources.rounds:,} rounds was reached")
        if self.relations.stored(self.name).rows > self.resources.rows:
            raise ResourceError(f"the limit of {self.resources.rows:,} rows was reached", "rows")


# A round costs tens of milliseconds on one server and a second on another before it touches a row,
# so it is one statement for each relation. What it finds is kept as Parquet: a plan that grew by a
# join in each round would be planned anew from the facts in each round.

STATEMENT: Final = "spark statement"
ROUNDS: Final = "spark rounds"
DOUBLING: Final = "spark doubling"
_MOST_WRITTEN: Final = 50


def unsupported(plan: ForwardPlan, tables: SparkTables) -> dict[str, str]:
    """Name the rules that Spark would not compute exactly, with reasons; nothing is computed."""
    found: dict[str, str] = {}
    for stage in plan.stages:
        names = {name: names_of(tables, name) for name in stage.predicates}
        inside = RoundTables(tables, names)
        own = frozenset(stage.predicates)
        for pipeline in (*stage.base, *stage.recursive):
            try:
                for one in variants_of(tables, inside, pipeline, own):
                    written(_rows_of(tables, inside, one))
            except StrategyError as problem:
                found[plan.program.rules[pipeline.plan.rule].id] = str(problem)
            except RecursionError:
                found[plan.program.rules[pipeline.plan.rule].id] = "it is too long for a statement"
    return found


def names_of(tables: SparkTables, name: str) -> Names:
    """The views of a relation while the rounds of its stage run."""
    table = tables.table(name)
    return Names(table, f"{table}_delta", f"{table}_new")


def _rows_of(tables: SparkTables, inside: RoundTables, variant: Variant) -> exp.Query:
    head = PipelineText(tables, inside).head(variant.pipeline, touched=variant.touched)
    return standing_alone(head.query)


def run_stage(
    relations: SparkRelations,
    stage: Stage,
    resources: Resources,
    *,
    observe: Observer = ignore_event,
) -> StageReport:
    """Compute the relations of a stage.

    Raises `SparkFailureError` where the server fails, `ResourceError` at a bound.
    """
    started = time.monotonic()
    closure = edge_closure(relations.plan, stage)
    if closure is not None:
        return _closed(relations, stage, closure, resources, observe)
    _need_distinct(relations, (*stage.base, *stage.recursive))
    rounds = Rounds(relations, stage, resources, observe)
    try:
        rounds.compute()
    except SparkFailureError as problem:
        if not problem.ours:
            raise
        # Perhaps the server computed something for rows that an earlier step removes.
        rounds = Rounds(relations, stage, resources, observe)
        relations.tables.careful = True
        try:
            rounds.compute()
        finally:
            relations.tables.careful = False
    rows = {name: relations.count(name) for name in stage.predicates}
    return StageReport(
        number=stage.number,
        strategy=ROUNDS if stage.recursive else STATEMENT,
        rounds=rounds.rounds,
        rows=rows,
        seconds=time.monotonic() - started,
    )


def way_of(plan: ForwardPlan, stage: Stage) -> str:
    """Say in which way a stage is computed."""
    closure = edge_closure(plan, stage)
    if closure is not None:
        return f"{DOUBLING}: the paths over {closure.edge}, doubled while that saves rounds"
    if stage.recursive:
        return f"{ROUNDS}: what each finds is kept, until one finds nothing"
    return f"{STATEMENT}: not recursive"


def _closed(
    relations: SparkRelations,
    stage: Stage,
    closure: EdgeClosure,
    resources: Resources,
    observe: Observer,
) -> StageReport:
    """Compute a stage that is the closure of edges."""
    started = time.monotonic()
    [name] = stage.predicates
    doubling = Doubling(relations, name, closure, resources, observe)
    doubling.compute()
    return StageReport(
        number=stage.number,
        strategy=DOUBLING if doubling.doubled else ROUNDS,
        rounds=doubling.rounds,
        rows={name: relations.count(name)},
        seconds=time.monotonic() - started,
    )


def _need_distinct(relations: SparkRelations, pipelines: Sequence[Pipeline]) -> None:
    """Make the relations sets that aggregates count the rows of."""
    for pipeline in pipelines:
        for step in pipeline.plan.steps:
            if isinstance(step, Fold):
                for inner in step.steps:
                    if isinstance(inner, Join):
                        relations.make_distinct(inner.predicate)


@slotted
class Rounds:
    """Runs the rounds of one stage; one that is not recursive has none."""

    relations: SparkRelations
    stage: Stage
    resources: Resources
    observe: Observer
    rounds: int = 0
    _deltas: dict[str, int] = field(default_factory=dict)
    _names: dict[str, Names] = field(default_factory=dict)
    _variants: list[Variant] = field(default_factory=list)
    _written: dict[tuple[str, frozenset[int]], exp.Query] = field(default_factory=dict)

    def compute(self) -> None:
        """Compute all relations of the stage."""
        for name in self.stage.predicates:
            if self.relations.stored(name).relation.given:
                self.relations.show_given(name)
            part = self.relations.keep(name, self._start(name))
            self.relations.replace(name, part)
            self._deltas[name] = part.rows
            if self.stage.recursive:
                self._names[name] = names_of(self.relations.tables, name)
                self._show_delta(name, part)
        if not self.stage.recursive:
            return
        inside = RoundTables(self.relations.tables, self._names)
        own = frozenset(self.stage.predicates)
        for pipeline in self.stage.recursive:
            self._variants.extend(variants_of(self.relations.tables, inside, pipeline, own))
        first = True
        while first or any(self._deltas.values()):
            self._round(inside, first=first)
            first = False

    def _start(self, name: str) -> exp.Query:
        """The rows of a relation before any recursion."""
        relation = self.relations.stored(name).relation
        queries: list[exp.Query] = []
        if relation.given:
            given = f"{self.relations.tables.table(name)}_given"
            queries.append(trees.everything(trees.table(given)))
        rows = self.stage.stated.get(name, ())
        if len(rows) > _MOST_WRITTEN:
            queries.append(trees.everything(trees.table(stated(self.relations, name, rows))))
        else:
            queries += written_rows(rows, relation.kinds)
        tables = self.relations.tables
        for pipeline in self.stage.base:
            if pipeline.head == name:
                queries.append(standing_alone(PipelineText(tables, tables).head(pipeline).query))
        return all_rows(queries or [nothing(relation)], relation=relation, distinct=False)

    def _round(self, inside: RoundTables, *, first: bool) -> None:
        found = {name: self._new(inside, name, first=first) for name in self._names}
        total = 0
        for name, part in found.items():
            rows = 0 if part is None else part.rows
            if part is not None and rows:
                self.relations.add(name, part)
                self._show_delta(name, part)
            elif self._deltas[name]:
                self._show_delta(name, None)
            self._deltas[name] = rows
            total += rows
        if total:
            self.rounds += 1
            self.observe(RoundFinished(self.stage.predicates, self.rounds, total))
        self._check_bounds()

    def _new(self, inside: RoundTables, name: str, *, first: bool) -> Part | None:
        """Keep the new rows, unless there can be none."""
        active = frozenset(
            number
            for number, variant in enumerate(self._variants)
            if variant.pipeline.head == name
            and (first if variant.first_only else any(self._deltas[one] for one in variant.reads))
        )
        if not active:
            return None
        query = self._written.get((name, active))
        if query is None:
            relation = self.relations.stored(name).relation
            tables = self.relations.tables
            chosen = [self._variants[number] for number in sorted(active)]
            queries = [_rows_of(tables, inside, one) for one in chosen]
            typed = [all_rows(queries, relation=relation, distinct=False)]
            query = self._written[name, active] = new_rows(relation, typed, self._names[name])
        return self.relations.keep(name, query, distinct=False)

    def _show_delta(self, name: str, part: Part | None) -> None:
        relation = self.relations.stored(name).relation
        parts = () if part is None else (part,)
        self.relations.show(self._names[name].delta, relation, parts)

    def _check_bounds(self) -> None:
        self.relations.connection.check()
        if self.rounds > self.resources.rounds:
            raise ResourceError(f"the limit of {self.resources.rounds:,} rounds was reached")
        rows = sum(self.relations.stored(name).rows for name in self.stage.predicates)
        if rows > self.resources.rows:
            raise ResourceError(f"the limit of {self.resources.rows:,} rows was reached", "rows")


def statements(plan: ForwardPlan, stage: Stage, tables: SparkTables) -> Iterator[tuple[str, str]]:
    """Yield what runs for a stage, each statement with what it is for.

    Raises `StrategyError` where a rule has no exact form.
    """
    names = {name: names_of(tables, name) for name in stage.predicates}
    inside = RoundTables(tables, names)
    for name in stage.predicates:
        for pipeline in stage.base:
            if pipeline.head == name:
                head = standing_alone(PipelineText(tables, tables).head(pipeline).query)
                yield (
                    f"rows of {name} by {plan.program.rules[pipeline.plan.rule].id}",
                    written(head),
                )
    own = frozenset(stage.predicates)
    for pipeline in stage.recursive:
        for variant in variants_of(tables, inside, pipeline, own):
            rule = plan.program.rules[pipeline.plan.rule].id
            rows = _rows_of(tables, inside, variant)
            query = new_rows(tables.relation(pipeline.head), [rows], names[pipeline.head])
            yield f"each round, rows of {pipeline.head} by {rule}", written(query)
