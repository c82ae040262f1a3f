"""The relations of one evaluation as tables, and the dictionary of texts."""

from __future__ import annotations

import re
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from constat.evaluation import StrategyError
from constat.frozen import slotted
from constat.logic import Kind
from constat.sql import trees
from constat.sql.connection import Connection, PythonFunctions
from constat.sql.pipelines import TEXTS
from constat.sql.trees import Functions, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import TypeVar

    import numpy.typing as npt
    from sqlglot import exp

    from constat.evaluation import Resources
    from constat.logic import Row
    from constat.plan.forward import Reading, Relation

# Numbers are dense from 0, and a number never changes its text.


def new_texts(table: str, columns: Sequence[str], known: int) -> exp.Expr:
    """Enter the texts of these columns that the dictionary lacks; it has `known` so far."""
    listed = trees.union(
        [
            trees.select([("text", trees.bare(label))], source=trees.table(table), distinct=True)
            for label in columns
        ]
    )
    same = trees.binary("=", trees.column("d", "text"), trees.column("q", "text"))
    entry = trees.select(
        [("found", trees.integer(1))], source=trees.table(TEXTS, "d"), where=[same]
    )
    new = trees.select(
        [("text", trees.column("q", "text"))],
        source=trees.nested(listed, "q"),
        where=[trees.opposite(trees.exists(entry))],
        distinct=True,
    )
    place = trees.binary("+", trees.row_number(), trees.constant(known - 1, Kind.NUMBER))
    numbered = trees.select(
        [("number", place), ("text", trees.column("n", "text"))], source=trees.nested(new, "n")
    )
    return trees.insert(TEXTS, numbered)


def numbered_rows(table: str, width: int, texts: Collection[int], *, distinct: bool) -> exp.Select:
    """The rows of a table with the numbers of the texts in these columns."""
    outputs = [
        (f"c{place}", trees.column(f"d{place}", "number"))
        if place in texts
        else (f"c{place}", trees.column("q", f"c{place}"))
        for place in range(width)
    ]
    query = trees.select(outputs, source=trees.table(table, "q"), distinct=distinct)
    for place in sorted(texts):
        same = trees.binary("=", trees.column(f"d{place}", "text"), trees.column("q", f"c{place}"))
        trees.add_join(query, trees.table(TEXTS, f"d{place}"), [same])
    return query


def spelled_rows(table: str, encoded: Sequence[bool]) -> exp.Select:
    """The rows of a table with texts in place of numbers."""
    outputs = [
        (f"c{place}", trees.column(f"d{place}", "text") if one else trees.column("q", f"c{place}"))
        for place, one in enumerate(encoded)
    ]
    query = trees.select(outputs, source=trees.table(table, "q"))
    for place, one in enumerate(encoded):
        if one:
            number = trees.column(f"d{place}", "number")
            same = trees.binary("=", number, trees.column("q", f"c{place}"))
            trees.add_join(query, trees.table(TEXTS, f"d{place}"), [same])
    return query


if TYPE_CHECKING:
    _Result = TypeVar("_Result")

_STAGED: Final = "staged_arrays"
CACHED: Final = 200_000
"""So many rows are kept as arrays beside their table: small relations are read by many rules."""
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 30


@slotted
class Stored:
    """A relation and its table.

    `distinct` says that no row is there twice; `rows` is their number where it is known. The table
    is `made` when a statement first needs it; until then the rows are the `arrays`, if any.
    Afterwards these are what the table holds: whoever adds to the table forgets them. A few rows
    that came from a server in their final form are `listed`, and become a table in the same way.
    """

    relation: Relation
    table: str
    distinct: bool = True
    rows: int | None = 0
    made: bool = False
    arrays: tuple[npt.NDArray[np.int64], ...] | None = None
    listed: Sequence[Row] | None = None


def write_arrays(
    relations: Relations,
    table: str,
    named: Sequence[tuple[str, exp.DataType]],
    arrays: Sequence[npt.NDArray[np.int64]],
) -> None:
    """Make a table of arrays, one for each column."""
    labels = [label for label, _ in named]
    given = {label: np.ascontiguousarray(one) for label, one in zip(labels, arrays, strict=True)}
    outputs = [(label, trees.cast(trees.bare(label), kind)) for label, kind in named]
    relations.connection.register(_STAGED, given)
    try:
        query = trees.select(outputs, source=trees.table(_STAGED))
        relations.connection.run(trees.create(table, query))
    finally:
        relations.connection.unregister(_STAGED)


class Relations:
    """One evaluation's tables; `Database` is these with all ways in and out.

    A DuckDB is opened when somebody first needs it: it takes longer than many a server's answer.
    """

    def __init__(self, resources: Resources, *, allowed: Sequence[Path] | None = None) -> None:
        self.resources = resources
        self.careful = False
        self.few = trees.FEW
        self._allowed = allowed
        self._opened: Connection | None = None
        self._opening = Lock()
        self._ended = False
        self._stored: dict[str, Stored] = {}
        self.stamped: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0

    @property
    def connection(self) -> Connection:
        """The open DuckDB."""
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = self._open()
        return self._opened

    def _open(self) -> Connection:
        found = Connection(self.resources, self._allowed)
        columns = [("number", trees.typed("BIGINT")), ("text", trees.typed("VARCHAR"))]
        if self._ended:
            found.interrupt()
        try:
            found.run(trees.create_empty(TEXTS, columns))
        except BaseException:
            found.close()
            raise
        return found

    @cached_property
    def _functions(self) -> PythonFunctions:
        return PythonFunctions(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def interrupt(self) -> None:
        """End what runs within a moment; whatever is asked later fails. From any thread."""
        self._ended = True
        if self._opened is not None:
            self._opened.interrupt()

    def close(self) -> None:
        """Forget everything."""
        if self._opened is not None:
            self._opened.close()

    # ------------------------------------------------------------------------------ relations

    def declare(self, relation: Relation) -> None:
        """Begin a relation without rows, once."""
        if relation.name not in self._stored:
            self._stored[relation.name] = Stored(relation, self.fresh_name(relation.name))

    def has(self, name: str) -> bool:
        """Whether a relation was declared."""
        return name in self._stored

    def fresh_name(self, hint: str) -> str:
        """A name for a table that no other table has."""
        self._last += 1
        readable = _OTHER.sub("_", hint.lower())[:_LONGEST_NAME].strip("_")
        return f"r{self._last}_{readable}" if readable else f"r{self._last}"

    def declared(self, name: str) -> Stored:
        """A relation, perhaps without its table. Raises `StrategyError` for an unknown one."""
        if name not in self._stored:
            raise StrategyError(f"the relation {name} was not declared")
        return self._stored[name]

    def stored(self, name: str) -> Stored:
        """A relation with its table."""
        stored = self.declared(name)
        if not stored.made:
            if stored.arrays is None:
                empty = trees.create_empty(stored.table, columns_of(stored.relation))
                self.connection.run(empty)
                if stored.listed:
                    self.connection.append(stored.table, stored.listed)
                stored.listed = None
            else:
                write_arrays(self, stored.table, columns_of(stored.relation), stored.arrays)
            stored.made = True
            if (stored.rows or 0) > CACHED:
                stored.arrays = None
        return stored

    def relation(self, predicate: str) -> Relation:
        """What the plan says of a relation."""
        return self.declared(predicate).relation

    def read(self, predicate: str, reading: Reading, alias: str) -> exp.Expr:  # noqa: ARG002  one table outside of a recursion
        """The table of a relation as a source."""
        return trees.table(self.stored(predicate).table, alias)

    def replace(self, name: str, table: str, rows: int | None = None) -> None:
        """Take a table without repeated rows for those of a relation; the old one goes."""
        stored = self.declared(name)
        if stored.made and stored.table != table:
            self.connection.run(trees.drop(stored.table))
        stored.table, stored.distinct, stored.rows = table, True, rows
        stored.made, stored.arrays, stored.listed = True, None, None

    def keep(self, name: str, arrays: tuple[npt.NDArray[np.int64], ...]) -> None:
        """Take arrays, whose rows are distinct, for the rows of a relation; the old ones go.

        They become a table when a statement first reads them.
        """
        stored = self.declared(name)
        if stored.made:
            self.connection.run(trees.drop(stored.table))
        stored.table, stored.distinct, stored.rows = self.fresh_name(name), True, len(arrays[0])
        stored.made, stored.arrays, stored.listed = False, arrays, None

    def list(self, name: str, rows: Sequence[Row]) -> None:
        """Take a few distinct rows in canonical form for the rows of a relation that has none."""
        stored = self.declared(name)
        if stored.made or stored.rows:
            raise AssertionError("the relation has rows")
        stored.rows, stored.listed = len(rows), rows

    def listed(self, name: str) -> Sequence[Row] | None:
        """The rows of a relation where they are a few that lie here and not in a table."""
        return self.declared(name).listed

    def whole(self, stored: Stored) -> exp.Select:
        """All rows of a table, as they are stored."""
        columns = [(label, trees.bare(label)) for label, _ in columns_of(stored.relation)]
        return trees.select(columns, source=trees.table(stored.table))

    def stamp(self, name: str, table: str, number: int) -> None:
        """Remember that the rows of a table came into a relation in this round."""
        rows = self.whole(Stored(self.relation(name), table))
        outputs = [("round", trees.constant(number, Kind.NUMBER))]
        query = trees.with_outputs(rows, outputs)
        known = self.stamped.get(name)
        if known is not None and number:
            self.connection.run(trees.insert(known, query))
            return
        if known is not None:
            self.connection.run(trees.drop(known))
        self.stamped[name] = self.fresh_name(f"rounds {name}")
        self.connection.run(trees.create(self.stamped[name], query))

    def count_rows(self, table: str) -> int:
        """How many rows a table has."""
        return self.aggregate(table, "count", trees.integer(1))

    def estimate(self, name: str) -> int:
        """How many rows a relation has, repeated ones included."""
        stored = self.declared(name)
        if stored.rows is None:
            stored.rows = self.count_rows(stored.table)
        return stored.rows

    def distinct_estimate(self, name: str, column: int) -> int:
        """About how many distinct values a column has."""
        return self.aggregate(
            self.stored(name).table, "approx_count_distinct", trees.bare(f"c{column}")
        )

    def aggregate(self, table: str, function: str, node: exp.Expr) -> int:
        """An aggregate of a whole table that is an integer."""
        query = trees.select([("n", trees.call(function, node))], source=trees.table(table))
        return int(str(self.connection.run(query)[0][0]))

    # ------------------------------------------------------------- what trees need (`Outside`)

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The SQL function that calls an implementation."""
        return self._functions.function(function, parameters, result)

    def test(self, operator: str, kind: Kind) -> str:
        """The SQL function that decides a comparison."""
        return self._functions.test(operator, kind)

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The SQL function that folds a list."""
        return self._functions.fold(function, kind, result)

    def functions(self, let: Callable[[exp.Expr], exp.Expr]) -> Functions:
        """What writes calls for DuckDB."""
        return Functions(self, let)

    def text_number(self, value: str) -> exp.Expr:
        """The number of a text as a tree."""
        return trees.constant(self.number_of(value), Kind.NUMBER)

    def number_of(self, value: str) -> int:
        """The number of a text in the dictionary, where it is entered if it is new."""
        found = self._numbers.get(value)
        if found is None:
            same = trees.binary("=", trees.bare("text"), trees.text(value))
            query = trees.select(
                [("number", trees.bare("number"))], source=trees.table(TEXTS), where=[same]
            )
            rows = self.connection.run(query)
            if rows:
                found = int(str(rows[0][0]))
            else:
                found = self.count_rows(TEXTS)
                entry = [
                    ("number", trees.constant(found, Kind.NUMBER)),
                    ("text", trees.text(value)),
                ]
                self.connection.run(trees.insert(TEXTS, trees.select(entry)))
            self._numbers[value] = found
        return found

    def guarded(self, work: Callable[[], _Result]) -> _Result:
        """Do several things as one piece of work, which ends at the bounds."""
        return self.connection.guarded(work)


# A key that is seen cheaply spares the work: a column of integers in which no value comes twice.

_ALMOST: Final = 0.7
_SPARSE: Final = 8
_SMALL: Final = 20_000
_FAR: Final = 1 << 62


def make_distinct(relations: Relations, name: str) -> None:
    """Take repeated rows away, where there are any."""
    stored = relations.declared(name)
    if stored.distinct:
        return
    if not _has_key(relations, stored):
        table = relations.fresh_name(name)
        query = trees.distinct_rows(relations.whole(stored))
        relations.connection.run(trees.create(table, query))
        relations.replace(name, table)
    stored.distinct = True


def _has_key(relations: Relations, stored: Stored) -> bool:
    """Whether one column of integers tells all rows apart."""
    total = relations.estimate(stored.relation.name)
    if not total:
        return True
    listed = zip(stored.relation.kinds, stored.relation.encoded, strict=True)
    for place, (kind, encoded) in enumerate(listed):
        if encoded or kind in {Kind.NUMBER, Kind.UNSIGNED}:
            node = trees.bare(f"c{place}")
            about = relations.aggregate(stored.table, "approx_count_distinct", node)
            if about >= _ALMOST * total and _is_key(relations, stored.table, f"c{place}", total):
                return True
    return False


def _is_key(relations: Relations, table: str, label: str, total: int) -> bool:
    known = _marked(relations, table, label, total)
    if known is not None:
        return known
    values = trees.select([("c", trees.bare(label))], source=trees.table(table), distinct=True)
    query = trees.select(
        [("n", trees.call("count", trees.integer(1)))], source=trees.nested(values, "q")
    )
    return int(str(relations.connection.run(query)[0][0])) == total


def _marked(relations: Relations, table: str, label: str, total: int) -> bool | None:
    """Whether no integer comes twice; nothing where that costs too much in this way.

    Integers that lie close together are marked in an array, which is many times faster than to
    group them.
    """
    low = relations.aggregate(table, "min", trees.bare(label))
    high = relations.aggregate(table, "max", trees.bare(label))
    if not -_FAR < low <= high < _FAR or high - low >= max(_SPARSE * total, _SMALL):
        return None
    query = trees.select([(label, trees.bare(label))], source=trees.table(table))
    read = relations.connection.written(query)
    driver = relations.connection.driver
    found = relations.guarded(lambda: driver.execute(read).fetchnumpy())
    marks = np.zeros(high - low + 1, dtype=np.bool_)
    marks[np.asarray(found[label]).astype(np.int64) - low] = True
    return int(np.count_nonzero(marks)) == total
