"""Bindings under construction: a query whose rows are bindings, step by step.

In: steps of a plan. Out: one query. The query is a stack of simple ones: joins and conditions are
collected in the top one (`sources`, `where`) until something needs its columns under names of
their own (`flatten`). Invariants: once flat, slot n is the bare column `s<n>` and stays it
through every further layer; a tree made before a layer is therefore still right behind it.
Names: `t` relations, `d` the dictionary, `q` queries, `x` intermediate values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from constat.evaluation import StrategyError
from constat.logic import CONSTRUCTOR_OF, Kind, Value
from constat.plan import Call, Expression, Literally, Slot
from constat.sql import trees
from constat.sql.functions import Functions, has_constructor, may_fail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlglot import exp

    from constat.plan.forward import Reading, Relation
    from constat.sql.functions import Outside

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


@dataclass(frozen=True, slots=True)
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
        self._functions = Functions(outside, self.let)

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
                return self._functions.call(function, parameters, result, listed)

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
        found = self._functions.compare(operator, kind, *values)
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
