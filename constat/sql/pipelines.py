"""Pipelines as queries.

In: a pipeline of a forward plan, and where its relations lie. Out: a query of its head rows, with
the columns `c0`, `c1`, and so on. Invariant: the query gives exactly the rows of the pipeline, or
fails; it may give a row more than once where that is said (`distinct`). Example: the rule
`path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).` is `SELECT t1.c0 AS c0, t2.c1 AS c1 FROM path AS t1
JOIN edge AS t2 ON t2.c0 = t1.c1`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from constat.evaluation import StrategyError
from constat.logic import Kind
from constat.plan import (
    Absence,
    Call,
    Compute,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
)
from constat.plan.forward import Layout, Reading
from constat.sql import trees
from constat.sql.folding import Groups, add_fold
from constat.sql.rows import Cell, Names, Rows, fails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.plan import Expression, Step
    from constat.plan.forward import Pipeline
    from constat.sql.functions import Outside
    from constat.sql.rows import Tables


@dataclass(frozen=True, slots=True)
class HeadRows:
    """The query of a pipeline; the columns in `texts` hold texts where numbers are wanted."""

    query: exp.Select
    texts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """The groups of the fold at a step that must be computed."""

    step: int
    groups: Groups


class PipelineText:
    """Writes one pipeline."""

    def __init__(self, outside: Outside, tables: Tables, names: Names | None = None) -> None:
        self._outside = outside
        self._tables = tables
        self._names = names or Names()

    def head(
        self, pipeline: Pipeline, *, distinct: bool = False, touched: Touched | None = None
    ) -> HeadRows:
        """The rows of the head."""
        rows = self._bindings(pipeline, len(pipeline.plan.steps), touched)
        relation = self._tables.relation(pipeline.head)
        if not relation.arity:
            outputs = [("c0", trees.constant(0, Kind.NUMBER))]
            return HeadRows(rows.query(outputs, distinct=distinct), ())
        cells = self._head_cells(rows, pipeline.plan.head, relation.kinds)
        texts, outputs = [], []
        for place, cell in enumerate(cells):
            node = rows.number(cell) if relation.encoded[place] else rows.plain(cell)
            if node is None:
                texts.append(place)
                node = rows.plain(cell)
            outputs.append((f"c{place}", node))
        return HeadRows(rows.query(outputs, distinct=distinct), tuple(texts))

    def count(self, pipeline: Pipeline, steps: int) -> exp.Select:
        """How many bindings there are after so many steps."""
        rows = self._bindings(pipeline, steps, None)
        return rows.query([("n", trees.call("count", trees.integer(1)))])

    def rows(self) -> Rows:
        """Rows under construction, of which there are none yet."""
        return Rows(self._outside, self._tables, self._names)

    @staticmethod
    def _head_cells(rows: Rows, head: Sequence[Expression], kinds: Sequence[Kind]) -> list[Cell]:
        calls = [place for place, one in enumerate(head) if isinstance(one, Call)]
        nodes = rows.values([head[place] for place in calls], [kinds[place] for place in calls])
        computed = dict(zip(calls, nodes, strict=True))
        cells = []
        for place, one in enumerate(head):
            match one:
                case Slot(slot):
                    cells.append(rows.cells[slot])
                case Literally(value):
                    cells.append(Cell(kinds[place], value=value))
                case Call():
                    cells.append(Cell(kinds[place], computed[place]))
        return cells

    def _bindings(self, pipeline: Pipeline, steps: int, touched: Touched | None) -> Rows:
        rows = self.rows()
        rows.append_constants(pipeline.plan.constants, pipeline.layout.kinds)
        heads = {one.place for one in pipeline.plan.head if isinstance(one, Slot)}
        for number, step in enumerate(pipeline.plan.steps[:steps]):
            reading = pipeline.readings[number]
            if isinstance(step, Fold):
                only = touched.groups if touched and touched.step == number else None
                self.fold(rows, pipeline, number, only)
            else:
                self.step(rows, step, reading, pipeline.layout, heads)
            rows.keep(pipeline.live[number])
            if number in pipeline.distinct:
                rows.flatten(distinct=True)
        return rows

    def fold(
        self, rows: Rows, pipeline: Pipeline, number: int, touched: Groups | None = None
    ) -> None:
        """Append an aggregate."""
        step = pipeline.plan.steps[number]
        layout = pipeline.inner.get(number)
        if not isinstance(step, Fold) or layout is None:
            raise StrategyError("an aggregate without a layout")
        before = pipeline.rows[number - 1] if 0 < number <= len(pipeline.rows) else 0.0
        restricted = pipeline.readings[number] is not Reading.FULL or any(
            one is Reading.DELTA for one in pipeline.readings[:number]
        )
        read = self._outside_slots(pipeline, number)
        add_fold(self, rows, step, layout, _Wish(restricted, before, touched, read))

    @staticmethod
    def _outside_slots(pipeline: Pipeline, number: int) -> bool:
        """Whether the head shows the aggregate, which then is computed in any case."""
        plan = pipeline.plan
        width = len(plan.constants)
        for step in plan.steps[:number]:
            match step:
                case Join(kept=kept):
                    width += len(kept)
                case Compute() | Fold():
                    width += 1
                case _:
                    pass
        return Slot(width) in plan.head

    def step(
        self, rows: Rows, step: Step, reading: Reading, layout: Layout, shown: set[int]
    ) -> None:
        """Take one step."""
        match step:
            case Join():
                self.join(rows, step, reading)
            case Absence():
                self._absence(rows, step, reading)
            case Filter(operator, left, right, kind):
                rows.add_condition(rows.comparison(operator, left, right, kind))
            case Compute(expression):
                _compute(rows, expression, layout, shown)
            case Fold():
                raise StrategyError("an aggregate inside an aggregate")
            case _:
                assert_never(step)

    def join(self, rows: Rows, step: Join, reading: Reading, free: Sequence[int] = ()) -> None:
        """Join a relation; a key slot in `free` is not bound yet, and is now."""
        alias = self._names.fresh("t")
        relation = self._tables.relation(step.predicate)

        def cell(place: int) -> Cell:
            node = trees.column(alias, f"c{place}")
            return Cell(relation.kinds[place], node, relation.encoded[place])

        on, late = [], []
        for place, slot in zip(step.columns, step.key, strict=True):
            if slot in free and slot not in rows.cells:
                rows.cells[slot] = cell(place)
                continue
            known = rows.cells[slot]
            if relation.encoded[place] and rows.number(known) is None:
                late.append((known, place))
            else:
                on.append(rows.equal(known, cell(place)))
        on.extend(
            trees.binary("=", trees.column(alias, f"c{one}"), trees.column(alias, f"c{other}"))
            for one, other in step.same
        )
        rows.add_source(self._tables.read(step.predicate, reading, alias), on)
        for known, place in late:
            # A text that was computed: it equals the text behind the relation's number.
            rows.add_condition(rows.equal(known, cell(place)))
        for place in step.kept:
            rows.append(cell(place))

    def _absence(self, rows: Rows, step: Absence, reading: Reading) -> None:
        alias = self._names.fresh("t")
        relation = self._tables.relation(step.predicate)
        inner = self.rows()
        inner.add_source(self._tables.read(step.predicate, reading, alias))
        for place, slot in zip(step.columns, step.key, strict=True):
            node = trees.column(alias, f"c{place}")
            cell = Cell(relation.kinds[place], node, relation.encoded[place])
            known = rows.cells[slot]
            if known.encoded and not cell.encoded:
                known = replace(known, node=rows.plain(known), encoded=False)
            inner.add_condition(inner.equal(known, cell))
        found = inner.query([("found", trees.integer(1))])
        rows.add_condition(trees.opposite(trees.exists(found)))


@dataclass(frozen=True, slots=True)
class _Wish:
    """How a fold is best computed: for given groups only, or for all; see `folding.Wish`."""

    restricted: bool
    before: float
    touched: Groups | None
    shown: bool


def _compute(rows: Rows, expression: Expression, layout: Layout, shown: set[int]) -> None:
    match expression:
        case Slot(place):
            rows.append(rows.cells[place])
        case Literally(value):
            rows.append(Cell(layout.kinds[rows.width], value=value))
        case Call(result=result):
            place = rows.name_slot(rows.value(expression, result), result)
            if fails(expression) and place not in shown:
                rows.force(trees.bare(f"s{place}"))
