"""Pipelines and aggregates as queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from constat.evaluation import StrategyError
from constat.frozen import frozen
from constat.logic import CONSTRUCTOR_OF, Kind, Value, aggregate_kind
from constat.logic.arithmetic import unwrapped
from constat.plan import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
    slots_of,
)
from constat.plan.forward import Layout, Reading
from constat.sql import trees
from constat.sql.trees import has_constructor, may_fail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlglot import exp

    from constat.plan import Step
    from constat.plan.forward import Pipeline, Relation
    from constat.sql.trees import Outside

TEXTS: Final = "texts"
"""The dictionary: a table of `number` and `text`."""
_MOST_LAYERS: Final = 80
_TEXTUAL: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})


class Tables(Protocol):
    """Where the relations of a plan lie."""

    def relation(self, predicate: str) -> Relation:
        """What the plan says of a relation."""
        ...

    def read(self, predicate: str, reading: Reading, alias: str) -> exp.Expr:
        """The source that gives these rows of a relation, columns `c0`, `c1`, and so on."""
        ...


@frozen
class Cell:
    """What a slot holds: a tree, or a constant that every query can spell for itself."""

    kind: Kind
    node: exp.Expr | None = None
    encoded: bool = False
    value: Value | None = None


class Names:
    """Gives names that no other part of the same statement has."""

    def __init__(self) -> None:
        self._last = 0

    def fresh(self, letter: str) -> str:
        """A new name."""
        self._last += 1
        return f"{letter}{self._last}"


class Rows:
    """A query of bindings that grows."""

    def __init__(self, outside: Outside, tables: Tables, names: Names) -> None:
        self.outside = outside
        self.tables = tables
        self.names = names
        self.cells: dict[int, Cell] = {}
        self.width = 0
        self._sources: list[tuple[exp.Expr, list[exp.Expr], bool]] = []
        self._where: list[exp.Expr] = []
        self._with: list[tuple[str, exp.Query]] = []
        self._flat = True
        self._layers = 0
        self._extra: list[str] = []
        self.functions = outside.functions(self.let)

    # ---------------------------------------------------------------------------------- slots

    def append(self, cell: Cell) -> int:
        """Put a cell into the next slot."""
        self.cells[self.width] = cell
        self.width += 1
        return self.width - 1

    def append_constants(self, values: Sequence[Value], kinds: Sequence[Kind]) -> None:
        """Put constants into the next slots; `kinds` are those of all slots."""
        for value in values:
            self.append(Cell(kinds[self.width], value=value))

    def keep(self, live: Collection[int]) -> None:
        """Forget the slots that nothing reads any more."""
        for place in [one for one in self.cells if one not in live]:
            del self.cells[place]
        self._extra = []

    def plain(self, cell: Cell) -> exp.Expr:
        """The value itself, texts spelled out."""
        if cell.value is not None:
            return trees.constant(cell.value, cell.kind)
        if cell.node is None:
            raise AssertionError("a cell has a tree or a value")
        return self.decoded(cell.node) if cell.encoded else cell.node.copy()

    def decoded(self, number: exp.Expr) -> exp.Expr:
        """The text of a number."""
        alias = self.names.fresh("d")
        same = trees.binary("=", trees.column(alias, "number"), number.copy())
        self.add_source(trees.table(TEXTS, alias), [same])
        return trees.column(alias, "text")

    def number(self, cell: Cell) -> exp.Expr | None:
        """The number of a text, where it is known without a look into the dictionary."""
        if cell.value is not None:
            return self.outside.text_number(str(cell.value))
        return cell.node.copy() if cell.encoded and cell.node is not None else None

    def equal(self, one: Cell, other: Cell) -> exp.Expr:
        """Whether two cells are equal, as numbers where both are known as such."""
        if one.kind in _TEXTUAL and (one.encoded or other.encoded):
            left, right = self.number(one), self.number(other)
            if left is not None and right is not None:
                return trees.binary("=", left, right)
        return trees.binary("=", self.plain(one), self.plain(other))

    # --------------------------------------------------------------------------------- layers

    def add_source(
        self, source: exp.Expr, on: Sequence[exp.Expr] = (), *, outer: bool = False
    ) -> None:
        """Join a source."""
        if not self._sources and outer:
            # Bindings of constants alone are one row all the same.
            self._layer([])
        if not self._sources:
            self._where.extend(on)
            on = ()
        self._sources.append((source, list(on), outer))
        self._flat = False

    def add_condition(self, condition: exp.Expr) -> None:
        """Keep the rows for which a condition holds."""
        self._where.append(condition)

    def add_table(self, label: str, rows: exp.Query) -> None:
        """Give the top query a common table."""
        self._with.append((label, rows))

    def query(
        self, outputs: Sequence[tuple[str, exp.Expr]], *, distinct: bool = False
    ) -> exp.Select:
        """The whole query with these outputs; the rows under construction are used up."""
        first = self._sources[0][0] if self._sources else None
        query = trees.select(outputs, source=first, where=self._where, distinct=distinct)
        for source, on, outer in self._sources[1:]:
            trees.add_join(query, source, on, outer=outer)
        for label, rows in self._with:
            trees.with_table(query, label, rows)
        self._sources, self._where, self._with = [], [], []
        return query

    def flatten(self, *, distinct: bool = False) -> None:
        """Give each slot its bare column."""
        if distinct or not self._flat:
            self._layer([], distinct=distinct)

    def let(self, node: exp.Expr) -> exp.Expr:
        """Give a value a name of its own; the rows must be flat."""
        if not any(True for _ in _columns(node)):
            return node
        label = self.names.fresh("x")
        self._layer([(label, node)])
        self._extra.append(label)
        return trees.bare(label)

    def _layer(self, added: list[tuple[str, exp.Expr]], *, distinct: bool = False) -> None:
        self._layers += 1
        if self._layers > _MOST_LAYERS:
            raise StrategyError("a rule is too long for one SQL statement")
        columns = [
            (f"s{place}", cell.node) for place, cell in self.cells.items() if cell.node is not None
        ]
        extra = [] if distinct else [(label, trees.bare(label)) for label in self._extra]
        outputs = [*((label, node) for label, node in columns), *extra, *added]
        query = self.query(outputs or [("nothing", trees.integer(0))], distinct=distinct)
        for place, cell in self.cells.items():
            if cell.node is not None:
                self.cells[place] = Cell(cell.kind, trees.bare(f"s{place}"), cell.encoded)
        self._sources = [(trees.nested(query, self.names.fresh("q")), [], False)]
        self._flat = True

    def name_slot(self, node: exp.Expr, kind: Kind, *, encoded: bool = False) -> int:
        """Append a slot that holds a computed value, under its bare name."""
        label = f"s{self.width}"
        self._layer([(label, node)])
        return self.append(Cell(kind, trees.bare(label), encoded))

    # ---------------------------------------------------------------------------- expressions

    def value(self, expression: Expression, kind: Kind) -> exp.Expr:
        """The tree of an expression of that kind; calls make the rows flat."""
        return self.values([expression], [kind])[0]

    def values(self, expressions: Sequence[Expression], kinds: Sequence[Kind]) -> list[exp.Expr]:
        """The trees of several expressions, for one and the same query."""
        for one in expressions:
            if isinstance(one, Call):
                self._ready(one)
        # Calls add layers, which only bare columns outlive: all others are looked at behind them.
        pairs = list(zip(expressions, kinds, strict=True))
        calls = [self._called(*one) if isinstance(one[0], Call) else None for one in pairs]
        return [
            self._value(*one) if call is None else call
            for one, call in zip(pairs, calls, strict=True)
        ]

    def _called(self, expression: Expression, kind: Kind) -> exp.Expr:
        """The value of a call.

        DuckDB may take a condition before an anti-join that stands before it, and so divide by what
        the anti-join removes. It moves no column that rests on a random number.
        """
        node = self._value(expression, kind)
        if not self.outside.careful or not fails(expression):
            return node
        always = trees.binary("<", trees.call("random"), trees.integer(2))
        return self.let(trees.choose(always, node, trees.null()))

    def _value(self, expression: Expression, kind: Kind) -> exp.Expr:
        match expression:
            case Slot(place):
                return self.plain(self.cells[place])
            case Literally(value):
                return trees.constant(value, kind)
            case Call(function, arguments, parameters, result):
                listed = [
                    self._value(one, parameter)
                    for one, parameter in zip(arguments, parameters, strict=True)
                ]
                return self.functions.call(function, parameters, result, listed)

    def _ready(self, expression: Expression) -> None:
        """Spell out the texts that the calls read, then make the rows flat."""
        for place in _slots(expression):
            cell = self.cells[place]
            if cell.encoded and cell.node is not None:
                text = self.decoded(cell.node)
                self.cells[place] = Cell(cell.kind, text)
        self.flatten()

    def comparison(
        self, operator: str, left: Expression, right: Expression, kind: Kind
    ) -> exp.Expr:
        """The condition of a comparison."""
        if operator in {"=", "!="} and isinstance(left, Slot) and isinstance(right, Slot):
            same = self.equal(self.cells[left.place], self.cells[right.place])
            return same if operator == "=" else trees.opposite(same)
        values = self.values([left, right], [kind, kind])
        found = self.functions.compare(operator, kind, *values)
        match left, right:
            case (Call(function, (Slot(place),)), Literally(str() as wanted)) | (
                Literally(str() as wanted),
                Call(function, (Slot(place),)),
            ) if function == CONSTRUCTOR_OF and operator == "=":
                whole = self.plain(self.cells[place])
                return has_constructor(whole, wanted, found)
            case _:
                return found

    def force(self, node: exp.Expr) -> None:
        """Make sure that a value which nothing reads is computed, and fails where it must.

        DuckDB knows that `x + y IS NOT NULL` holds without computing it; a hash it must compute.
        """
        some = trees.integer(7)
        hashed = trees.call("hash", node)
        self.add_condition(
            trees.binary(
                "or",
                trees.binary("!=", hashed, some),
                trees.binary("=", hashed.copy(), some.copy()),
            )
        )


def fails(expression: Expression) -> bool:
    """Whether evaluation may fail."""
    match expression:
        case Call(function, arguments, parameters, result):
            return may_fail(function, parameters, result) or any(fails(one) for one in arguments)
        case _:
            return False


def _slots(expression: Expression) -> Iterator[int]:
    match expression:
        case Slot(place):
            yield place
        case Call(arguments=arguments):
            for one in arguments:
                yield from _slots(one)
        case Literally():
            return


def _columns(node: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    yield from node.find_all(exp.Column)


# A group without assignments has the count and the sum 0, and no other aggregate. Relations are
# sets and every variable of an aggregate has a slot, so assignments are distinct without being
# made so.

_ALWAYS: Final = ("count", "sum")
_EXACT_TOTALS: Final = (Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL)


class FoldHints(Protocol):
    """How a fold is best computed."""

    @property
    def restricted(self) -> bool:
        """Whether the bindings are the few of a round."""
        ...

    @property
    def before(self) -> float:
        """The estimated number of bindings, 0 for unknown."""
        ...

    @property
    def touched(self) -> Groups | None:
        """The only groups that matter."""
        ...

    @property
    def shown(self) -> bool:
        """Whether the result is in the head."""
        ...


class StepText(Protocol):
    """Writes the steps inside."""

    def rows(self) -> Rows:
        """Rows under construction."""
        ...

    def join(self, rows: Rows, step: Join, reading: Reading, free: Sequence[int] = ()) -> None:
        """Join a relation."""
        ...

    def step(
        self, rows: Rows, step: Step, reading: Reading, layout: Layout, shown: set[int]
    ) -> None:
        """Take a step."""
        ...


def add_fold(writer: StepText, rows: Rows, step: Fold, layout: Layout, hints: FoldHints) -> None:
    """Append an aggregate to the bindings."""
    if hints.touched is not None:
        _only_touched(rows, step, hints.touched)
    group = [rows.cells[place] for place in step.group]
    if not group:
        inner = _assignments(writer, step, layout, writer.rows())
        _cross(rows, step, _grouped(inner, step, 0), hints)
        return
    if _joins_bind_group(step) and not hints.restricted and not _few(rows, step, hints):
        inner = _assignments(writer, step, layout, writer.rows(), free=True)
        rows.flatten()
    else:
        inner = _assignments(writer, step, layout, _start(writer, rows, step))
    alias = rows.names.fresh("a")
    grouped = _grouped(inner, step, len(group))
    # What the total reads is spelled out before it is grouped: numbers may have become texts.
    on = []
    for place, slot in enumerate(step.group):
        key, node = inner.cells[place], trees.column(alias, f"k{place}")
        on.append(rows.equal(rows.cells[slot], Cell(key.kind, node, key.encoded)))
    outer = unwrapped(step.function)[0] in _ALWAYS
    rows.add_source(trees.nested(grouped, alias), on, outer=outer)
    _append(rows, step, trees.column(alias, "v"), hints)


@frozen
class Groups:
    """The only groups that matter: a query of `k0`, `k1`, ..., and which of them are numbers."""

    query: exp.Query
    encoded: tuple[bool, ...]


def touched_groups(
    writer: StepText, step: Fold, layout: Layout, reading_of: Sequence[Reading]
) -> Groups | None:
    """The groups whose assignments read rows of a round, or nothing where that cannot be said.

    `reading_of[i]` says which rows inner step i reads.
    """
    if not step.group or not _joins_bind_group(step):
        return None
    inner = _assignments(writer, step, layout, writer.rows(), free=True, readings=reading_of)
    keys = [inner.cells[place] for place in range(len(step.group))]
    nodes = [cell.node if cell.node is not None else inner.plain(cell) for cell in keys]
    outputs = [(f"k{place}", node) for place, node in enumerate(nodes)]
    query = inner.query(outputs, distinct=True)
    return Groups(query, tuple(cell.encoded for cell in keys))


def _assignments(
    writer: StepText,
    step: Fold,
    layout: Layout,
    inner: Rows,
    *,
    free: bool = False,
    readings: Sequence[Reading] = (),
) -> Rows:
    """Take the inner steps."""
    group = range(len(step.group))
    inner.width = len(group)
    inner.append_constants(step.constants, layout.kinds)
    for number, one in enumerate(step.steps):
        reading = readings[number] if readings else Reading.FULL
        if isinstance(one, Join):
            writer.join(inner, one, reading, group if free else ())
        else:
            writer.step(inner, one, reading, layout, set())
    return inner


def _start(writer: StepText, rows: Rows, step: Fold) -> Rows:
    """Begin with the distinct groups of the bindings, which become a table that is read twice."""
    rows.flatten()
    # Constants are no columns of a query: a group has them as they are.
    columns = [
        (place, slot) for place, slot in enumerate(step.group) if rows.cells[slot].node is not None
    ]
    named = [(f"s{slot}", cell.node) for slot, cell in rows.cells.items() if cell.node is not None]
    bindings = rows.query(named or [("nothing", trees.integer(0))])
    label = rows.names.fresh("b")
    rows.add_table(label, bindings)
    rows.add_source(trees.table(label))
    inner = writer.rows()
    if columns:
        keys = [(f"s{place}", trees.bare(f"s{slot}")) for place, slot in columns]
        groups = trees.select(keys, source=trees.table(label), distinct=True)
        inner.add_source(trees.nested(groups, rows.names.fresh("q")))
    for place, slot in enumerate(step.group):
        cell = rows.cells[slot]
        node = None if cell.node is None else trees.bare(f"s{place}")
        inner.cells[place] = Cell(cell.kind, node, cell.encoded, cell.value)
    for slot, cell in list(rows.cells.items()):
        if cell.node is not None:
            rows.cells[slot] = Cell(cell.kind, trees.bare(f"s{slot}"), cell.encoded)
    return inner


def _grouped(inner: Rows, step: Fold, width: int) -> exp.Select:
    """One row for each group that has an assignment: `k0`, `k1`, ..., and the value `v`."""
    total = _total(inner, step)
    current = [inner.cells[place] for place in range(width)]
    nodes = [cell.node if cell.node is not None else inner.plain(cell) for cell in current]
    outputs = [*((f"k{place}", node) for place, node in enumerate(nodes)), ("v", total)]
    query = inner.query(outputs)
    trees.group(query, [node.copy() for node in nodes])
    return query


def _total(inner: Rows, step: Fold) -> exp.Expr:
    result = aggregate_kind(step.function, step.kind)
    if result is None:
        raise StrategyError(f"no aggregate {step.function} of that kind")
    if step.threshold is not None:
        return _threshold_total(inner, step)
    target = None
    if step.target is not None and step.kind is not None:
        target = inner.value(step.target, step.kind)
    return inner.functions.folded(step.function, step.kind, result, target)


def _threshold_total(inner: Rows, step: Fold) -> exp.Expr:
    """The exact total, wider than its kind; a summand below zero is left to other strategies."""
    if step.target is None or step.kind is None:
        return trees.call("count", trees.integer(1))
    if step.kind not in _EXACT_TOTALS or unwrapped(step.function)[1]:
        raise StrategyError("a threshold on a sum that SQL does not add up exactly")
    target = inner.value(step.target, step.kind)
    total = inner.functions.total(step.kind, target)
    if step.threshold is not None and step.threshold.proven:
        return total
    least = trees.call("min", target.copy())
    negative = trees.binary("<", least, trees.integer(0))
    reason = "a summand of a threshold is negative"
    return trees.choose(negative, trees.call("error", trees.text(reason)), total)


def _append(rows: Rows, step: Fold, value: exp.Expr, hints: FoldHints) -> None:
    """Append the value of the group, or compare it with the bound of a threshold."""
    result = aggregate_kind(step.function, step.kind) or Kind.NUMBER
    plain = unwrapped(step.function)[0]
    if plain in _ALWAYS:
        value = trees.call("coalesce", value, trees.constant(0, result))
    if step.threshold is not None:
        _keep_beyond(rows, step, value, result)
        return
    place = rows.name_slot(value, result)
    if not hints.shown and plain in {"sum", "mean"}:
        rows.force(trees.bare(f"s{place}"))


def _keep_beyond(rows: Rows, step: Fold, value: exp.Expr, kind: Kind) -> None:
    if step.threshold is None:
        return
    node = rows.let(value)
    bound = rows.value(step.threshold.bound, kind)
    rows.add_condition(trees.binary(step.threshold.operator, node, bound))
    rows.width += 1


def _cross(rows: Rows, step: Fold, grouped: exp.Select, hints: FoldHints) -> None:
    """Join the one row that an aggregate without a group has."""
    alias = rows.names.fresh("a")
    rows.flatten()
    rows.add_source(trees.nested(grouped, alias))
    value = trees.column(alias, "v")
    if unwrapped(step.function)[0] not in _ALWAYS:
        rows.add_condition(trees.opposite(trees.is_null(value)))
    _append(rows, step, value.copy(), hints)


def _only_touched(rows: Rows, step: Fold, touched: Groups) -> None:
    rows.flatten()
    alias = rows.names.fresh("g")
    on = []
    for place, (slot, encoded) in enumerate(zip(step.group, touched.encoded, strict=True)):
        cell = rows.cells[slot]
        key = Cell(cell.kind, trees.column(alias, f"k{place}"), encoded)
        on.append(rows.equal(cell, key))
    rows.add_source(trees.nested(touched.query.copy(), alias), on)


def _joins_bind_group(step: Fold) -> bool:
    """Whether the inner joins find all values of the group by themselves."""
    free = set(range(len(step.group)))
    for one in step.steps:
        match one:
            case Join(key=key):
                free.difference_update(key)
            case Absence(key=key):
                if free.intersection(key):
                    return False
            case Compute(expression):
                if _reads(free, expression):
                    return False
            case Filter(left=left, right=right):
                if _reads(free, left) or _reads(free, right):
                    return False
            case Fold():
                return False
    return not free and not (step.target is not None and _reads(free, step.target))


def _reads(free: set[int], expression: Expression) -> bool:
    return not free.isdisjoint(slots_of(expression))


def _few(rows: Rows, step: Fold, hints: FoldHints) -> bool:
    """Whether the bindings are so few that most groups would be computed in vain."""
    sizes = [
        rows.tables.relation(one.predicate).rows for one in step.steps if isinstance(one, Join)
    ]
    return bool(hints.before) and bool(sizes) and hints.before < rows.outside.few * max(sizes)


# The query gives exactly the rows of the pipeline, or fails; it may give a row more than once
# where that is said (`distinct`).


@frozen
class HeadRows:
    """The query of a pipeline; the columns in `texts` hold texts where numbers are wanted."""

    query: exp.Select
    texts: tuple[int, ...]


@frozen
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
        add_fold(self, rows, step, layout, _FoldHints(restricted, before, touched, read))

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


@frozen
class _FoldHints:
    """How a fold is best computed: for given groups only, or for all; see `FoldHints`."""

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
