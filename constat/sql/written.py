"""A stage as SQL text, for whoever wants to read it or to run it on another system.

In: a plan, a stage. Out: statements, each behind a comment that says what it is for. Invariant:
they are those that DuckDB runs here, but for the names of tables, which are `r<n>_<predicate>` in
the order of the plan; the dictionary is `texts`.

A stage that is no single expression gets rounds: run `initial` once, then `round` and `promote`
again and again, until a round adds nothing; what drives them is outside. Functions of Python are
called `constat_<name>`; they must be registered there. Systems that compute elsewhere take their
names of relations from `PlanTables`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.plan.forward import Reading, Strategy
from constat.sql import stages, trees
from constat.sql.pipelines import TEXTS, PipelineText
from constat.sql.stages import (
    Names,
    RoundTables,
    all_rows,
    new_rows,
    nothing,
    promotion,
    standing_alone,
    variants_of,
)
from constat.sql.trees import FEW, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlglot import exp

    from constat.logic import Kind, Row
    from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage

_OTHER: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 30


def statements(plan: ForwardPlan, stage: Stage) -> list[str]:
    """Write the statements that compute a stage.

    Raises `StrategyError` for a stage that has no SQL.
    """
    tables = _WrittenTables(plan)
    if not stage.recursive:
        listed = _single(tables, stage)
    elif Strategy.CTE in stage.choices:
        listed = _expression(tables, stage)
    else:
        listed = _rounds(tables, stage)
    found = []
    for label, tree in listed:
        found.append(f"/* {label} */ {tree.sql('duckdb')}")
    return found


class PlanTables:
    """Names the relations of a plan for a system that another program drives.

    What is not exact there has no form, so that by default functions of Python are refused.
    """

    careful = False
    few = FEW
    prefix = "r"
    server = "the other system"

    def __init__(self, plan: ForwardPlan) -> None:
        self._plan = plan
        self._names = {
            name: f"{number}_{_OTHER.sub('_', name.lower())[:_LONGEST_NAME]}"
            for number, name in enumerate(plan.relations)
        }

    def relation(self, predicate: str) -> Relation:
        """What the plan says of a relation."""
        return self._plan.relations[predicate]

    def table(self, predicate: str) -> str:
        """The name of its table."""
        return self.prefix + self._names[predicate]

    def read(self, predicate: str, reading: Reading, alias: str) -> exp.Expr:  # noqa: ARG002  as in `Tables`
        """The table as a source."""
        return trees.table(self.table(predicate), alias)

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """Refuse a function that would be one of Python."""
        kinds = ", ".join(kind.value for kind in parameters)
        raise StrategyError(
            f"{self.server} has no exact form of {function} ({kinds} to {result.value})"
        )

    def test(self, operator: str, kind: Kind) -> str:
        """Refuse a comparison."""
        raise StrategyError(f"{self.server} has no exact form of {operator} for {kind.value}")

    def fold(self, function: str, kind: Kind, result: Kind) -> str:  # noqa: ARG002  as in `Outside`
        """Refuse an aggregate."""
        raise StrategyError(
            f"{self.server} has no exact form of {function} over {kind.value} values"
        )

    def functions(self, let: Callable[[exp.Expr], exp.Expr]) -> trees.Functions:
        """What writes calls, as for DuckDB."""
        return trees.Functions(self, let)

    def text_number(self, value: str) -> exp.Expr:
        """Nothing is encoded there."""
        raise AssertionError(f"a plan for elsewhere has no dictionary: {len(value)} characters")


def stated(rows: Sequence[Row], kinds: Sequence[Kind]) -> Iterator[exp.Query]:
    """The rows that the rules state, written out."""
    for row in rows:
        outputs = [
            (f"c{place}", trees.constant(value, kind))
            for place, (value, kind) in enumerate(zip(row, kinds, strict=True))
        ]
        yield trees.select(outputs or [("c0", trees.integer(0))])


def typed(relation: Relation, query: exp.Query, *, distinct: bool) -> exp.Select:
    """The rows of a query in the types of a relation's columns."""
    outputs = [
        (label, trees.cast(trees.column("u", label), kind)) for label, kind in columns_of(relation)
    ]
    return trees.select(outputs, source=trees.nested(query, "u"), distinct=distinct)


class _WrittenTables(PlanTables):
    """Names of tables and functions that no database has given out."""

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The name under which an implementation must be registered."""
        kinds = "_".join(kind.value.lower() for kind in (*parameters, result))
        return f"constat_{_OTHER.sub('_', function)}_{kinds}"

    def test(self, operator: str, kind: Kind) -> str:
        """The name under which a comparison must be registered."""
        return f"constat_{operator}_{kind.value.lower()}"

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The name under which an aggregate over a list must be registered."""
        return f"constat_{_OTHER.sub('_', function)}_of_{kind.value.lower()}_{result.value.lower()}"

    def text_number(self, value: str) -> exp.Expr:
        """A look into the dictionary."""
        same = trees.binary("=", trees.bare("text"), trees.text(value))
        query = trees.select(
            [("number", trees.bare("number"))], source=trees.table(TEXTS), where=[same]
        )
        return trees.scalar(query)

    def stated(self, stage: Stage, name: str) -> list[exp.Query]:
        """The rows that the rules state."""
        relation = self.relation(name)
        found: list[exp.Query] = []
        for row in stage.stated.get(name, ()):
            outputs = [
                (
                    f"c{place}",
                    self.text_number(str(value)) if encoded else trees.constant(value, kind),
                )
                for place, (value, kind, encoded) in enumerate(
                    zip(row, relation.kinds, relation.encoded, strict=True)
                )
            ]
            found.append(trees.select(outputs or [("c0", trees.integer(0))]))
        return found

    def head(self, pipeline: Pipeline) -> exp.Query:
        """The rows of a pipeline."""
        head = PipelineText(self, self).head(pipeline)
        if head.texts:
            raise StrategyError("a rule makes texts where numbers are wanted")
        return standing_alone(head.query)

    def start(self, stage: Stage, name: str) -> exp.Query:
        """The rows of a relation before any recursion."""
        relation = self.relation(name)
        queries = self.stated(stage, name)
        if relation.given:
            labels = [f"c{place}" for place in range(max(relation.arity, 1))]
            outputs = [(label, trees.bare(label)) for label in labels]
            queries.append(trees.select(outputs, source=trees.table(f"{self.table(name)}_given")))
        queries.extend(self.head(one) for one in stage.base if one.head == name)
        return all_rows(queries or [nothing(relation)], relation=relation, distinct=True)


def _single(tables: _WrittenTables, stage: Stage) -> Iterator[tuple[str, exp.Expr]]:
    for name in stage.predicates:
        query = tables.start(stage, name)
        yield f"statement: {name}", trees.create(tables.table(name), query)


def _expression(tables: _WrittenTables, stage: Stage) -> Iterator[tuple[str, exp.Expr]]:
    shape = stages.shape_of([tables.relation(name) for name in stage.predicates])
    base = {name: [tables.start(stage, name)] for name in stage.predicates}
    steps = stages.recursive_queries(tables, tables, stage, shape)
    query = stages.expression(shape, base, steps)
    if not shape.tagged:
        yield (
            f"expression: {stage.predicates[0]}",
            trees.create(tables.table(stage.predicates[0]), query),
        )
        return
    whole = "_".join(tables.table(name) for name in stage.predicates[:2])
    yield "expression: " + ", ".join(stage.predicates), trees.create(whole, query)
    for name in stage.predicates:
        rows = stages.rows_of(shape, name, whole)
        yield f"part: {name}", trees.create(tables.table(name), rows)


def _rounds(tables: _WrittenTables, stage: Stage) -> Iterator[tuple[str, exp.Expr]]:
    names = {
        name: Names(tables.table(name), f"{tables.table(name)}_delta", f"{tables.table(name)}_new")
        for name in stage.predicates
    }
    inside = RoundTables(tables, names)
    for name, one in names.items():
        yield f"initial: {name}", trees.create(one.full, tables.start(stage, name))
        copy = trees.everything(trees.table(one.full))
        yield f"initial delta: {name}", trees.create(one.delta, copy)
    for name, one in names.items():
        queries = _round_queries(tables, inside, stage, name)
        yield (
            f"round: {name}",
            trees.create(one.new, new_rows(tables.relation(name), queries, one)),
        )
    for name, one in names.items():
        for tree in promotion(one):
            yield f"promote: {name}", tree
    for name, one in names.items():
        count = [("n", trees.call("count", trees.integer(1)))]
        yield f"until 0: {name}", trees.select(count, source=trees.table(one.delta))


def _round_queries(
    tables: _WrittenTables, inside: RoundTables, stage: Stage, name: str
) -> Sequence[exp.Query]:
    own = frozenset(stage.predicates)
    found: list[exp.Query] = []
    for pipeline in stage.recursive:
        if pipeline.head != name:
            continue
        for variant in variants_of(tables, inside, pipeline, own):
            head = PipelineText(tables, inside).head(variant.pipeline, touched=variant.touched)
            if head.texts:
                raise StrategyError("a recursive rule makes texts where numbers are wanted")
            found.append(standing_alone(head.query))
    return found
