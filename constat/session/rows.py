"""Rows that lie in a DuckDB, and answers as data frames and typed columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from heapq import merge
from itertools import islice
from threading import Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, overload

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Resources, StrategyError, Verdict
from constat.frozen import frozen
from constat.logic import Atom, Kind, NullCell, Variable, canonical_decimal, row_order
from constat.plan.forward import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb
    import pandas as pd

    from constat.logic import Row, Value
    from constat.session.answers import AnswerColumn, Answers, Rows
    from constat.sql import Database
    from constat.store.table_forms import Table

T = TypeVar("T")
_BATCH: Final = 10_000
Order = tuple[tuple[int, bool], ...]
"""Columns to sort by, the first one first, each with whether it descends."""


@frozen(eq=False)
class StoredRows(Sequence["Row"]):
    """A part of the rows of a relation: so many from `start`, in an order.

    Where rows are not all proved, `unproved` names a column of truth values that says which.
    """

    relation: duckdb.DuckDBPyRelation
    kinds: tuple[Kind, ...]
    total: int
    database: Database
    order: Order = ()
    start: int = 0
    most: int | None = None
    unproved: str = ""

    def __len__(self) -> int:
        left = max(0, self.total - self.start)
        return left if self.most is None else min(left, self.most)

    def __iter__(self) -> Iterator[Row]:
        for batch in self.batches(self._values()):
            if not self.kinds:
                yield from ((),) * len(batch)
            elif Kind.DECIMAL in self.kinds:
                yield from map(self.canonical, batch)
            else:
                yield from batch

    def canonical(self, row: Row) -> Row:
        """Give a row as DuckDB gives it in canonical form: its decimals have zeros at the end."""
        return tuple(
            [
                canonical_decimal(Decimal(cell)) if kind is Kind.DECIMAL else cell
                for cell, kind in zip(row, self.kinds, strict=True)
            ]
        )

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> StoredRows: ...
    def __getitem__(self, place: int | slice) -> Row | StoredRows:
        """Give a row, or a stretch of rows."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("rows are taken one after the other")
            most = max(0, last - first)
            return replace(self, start=self.start + first, most=most)
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return next(iter(self[number : number + 1]))

    def ordered(self, place: int, *, descending: bool) -> StoredRows:
        """Give the same rows in the order of a column; equal ones keep their order."""
        if len(self) != self.total:
            raise ValueError("a stretch of rows has its order")
        return replace(self, order=((place, descending), *self.order))

    def selected(self) -> duckdb.DuckDBPyRelation:
        """Give these rows as a relation, in their order."""
        found = self.relation
        if self.kinds:
            found = found.sort(*self._sorting())
        return found if len(self) == self.total else found.limit(len(self), self.start)

    def as_table(self, names: Sequence[str]) -> Table:
        """Give the rows as a table, in their order, without making Python values of them.

        Raises `ConstatError` where memory or disk do not suffice.
        """
        from constat.store.table_columns import canonical_stored, fetched  # noqa: PLC0415  loaded when it is used

        columns = [(name, kind.value) for name, kind in zip(names, self.kinds, strict=True)]
        stored = [canonical_stored(f"v{n}", kind) for n, (_, kind) in enumerate(columns)]
        with _failures():
            found: Table = self._beside(lambda: fetched(self._values(), columns, stored))
        return found

    def exchanged(self, out: Sequence[Row], into: Sequence[Row]) -> StoredRows:
        """Take rows out and put others in, each with whether it is not proved.

        Only where `unproved` names a column; raises `StrategyError` for a value without a column.
        """
        gone = self._loaded([(*row, False) for row in out])
        same = " AND ".join(f"a.v{n} = b.v{n}" for n in range(len(self.kinds)))
        left = self.relation.set_alias("a").join(gone.set_alias("b"), same, "anti")
        name = self.database.fresh_name("exchanged")
        every = left.union(self._loaded(into))
        self.database.guarded(lambda: every.create(name))
        relation = self.database.connection.driver.table(name)
        total = int(relation.aggregate("count(*)").fetchall()[0][0])
        return replace(self, relation=relation, total=total)

    def _loaded(self, rows: Sequence[Row]) -> duckdb.DuckDBPyRelation:
        """Load rows, each with a truth value, as a relation like this one."""
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        kinds = (*self.kinds, Kind.BOOL)
        name = self.database.fresh_name("said")
        plain = (False,) * len(kinds)
        self.database.declare(Relation(name, kinds, plain, given=True, derived=False))
        self.database.load_rows(name, [(*row[:-1], str(row[-1]).lower()) for row in rows])
        free = Atom(name, tuple(Variable(f"v{n}") for n in range(len(kinds))))
        *values, mark = self.database.select(name, free).columns
        chosen = [ColumnExpression(one).alias(f"v{n}") for n, one in enumerate(values)]
        told = (ColumnExpression(mark) == "true").alias(self.unproved)
        return self.database.select(name, free).select(*chosen, told)

    def proved(self) -> duckdb.DuckDBPyRelation:
        """Give all rows of the relation that are proved, without an order."""
        if not self.unproved:
            return self.relation
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        kept = self.relation.filter(f"NOT {self.unproved}")
        return kept.select(*(ColumnExpression(f"v{n}") for n in range(len(self.kinds))))

    def _values(self) -> duckdb.DuckDBPyRelation:
        if not self.unproved:
            return self.selected()
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        return self.selected().select(*(ColumnExpression(f"v{n}") for n in range(len(self.kinds))))

    def batches(self, relation: duckdb.DuckDBPyRelation) -> Iterator[list[Row]]:
        """Yield the rows of a relation made from this one, in its order.

        Raises `ConstatError` where memory or disk do not suffice to put them in order.
        """
        rows = relation.iter_rows(_BATCH)
        with _failures():
            batch = self._beside(lambda: list(islice(rows, _BATCH)))
            while batch:
                yield batch
                batch = list(islice(rows, _BATCH))

    def _beside(self, work: Callable[[], T]) -> T:
        """Let DuckDB sort in a thread, while this one listens for Ctrl-C."""
        found: list[T] = []
        problems: list[BaseException] = []

        def run() -> None:
            try:
                found.append(work())
            except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
                problems.append(problem)

        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            self.database.interrupt()
            raise
        for problem in problems:
            raise problem
        return found[0]

    def _sorting(self) -> list[duckdb.Expression]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        wanted = dict(self.order[::-1])
        places = dict.fromkeys([place for place, _ in self.order] + list(range(len(self.kinds))))
        columns = {place: ColumnExpression(f"v{place}") for place in places}
        return [
            column.desc() if wanted.get(place, False) else column.asc()
            for place, column in columns.items()
        ]


@frozen(eq=False)
class LabelledRows(Sequence["Row"]):
    """Rows that lie in a database, and beside them those with cells that nobody knows, sorted."""

    stored: StoredRows
    labelled: Sequence[Row]

    def __len__(self) -> int:
        return len(self.stored) + len(self.labelled)

    def __iter__(self) -> Iterator[Row]:
        return merge(self.stored, self.labelled, key=row_order)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        """Give a row, or a list of rows, in the order of their values."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step < 1:
                raise ValueError("rows are taken one after the other")
            return list(islice(self, first, last, step))
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return next(islice(self, number, None))


@contextmanager
def _failures() -> Iterator[None]:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        yield
    except duckdb.Error as problem:
        # What DuckDB says may quote values; the name of its error does not.
        reason = type(problem).__name__.removesuffix("Exception")
        message = f"the rows cannot be put in order ({reason})"
        hint = "give the process more memory, or ask for fewer rows"
        raise ConstatError([Diagnostic("C0661", message, help=hint)]) from None


# No value changes: integers stay integers, decimals `Decimal` objects, times keep microseconds and
# UTC, and nothing is guessed from what the values look like.

_DTYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "Int64",
        Kind.UNSIGNED: "UInt64",
        Kind.FLOAT: "Float64",
        Kind.SYMBOL: "string",
        Kind.STRUCTURE: "string",
        Kind.BOOL: "boolean",
        Kind.TIMESTAMP: "datetime64[us, UTC]",
        Kind.DATE: "object",
        Kind.DECIMAL: "object",
    }
)


def data_frame(
    kinds: Mapping[str, Kind],
    rows: Sequence[Row],
    verdicts: Sequence[str],
    confidences: Sequence[Decimal | None] | None,
) -> pd.DataFrame:
    """Make the frame; `kinds` names the columns, `confidences` is `None` where nobody asked."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    columns: dict[str, pd.Series] = {}
    for place, (name, kind) in enumerate(kinds.items()):
        columns[name] = _series([row[place] for row in rows], kind)
    taken = set(columns)
    columns[free_name("verdict", taken)] = pd.Series(list(verdicts), dtype="string")
    if confidences is not None:
        columns[free_name("confidence", taken)] = pd.Series(list(confidences), dtype="object")
    return pd.DataFrame(columns)


def free_name(name: str, taken: set[str]) -> str:
    """Give a column's name that no variable of the query has."""
    while name in taken:
        name += "_"
    return name


def _series(values: Sequence[Value | NullCell], kind: Kind) -> pd.Series:
    """Make a column; a value that nobody knows is missing."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    known = [None if isinstance(value, NullCell) else value for value in values]
    match kind:
        case Kind.BOOL:
            cells = [None if value is None else value == "true" for value in known]
            return pd.Series(cells, dtype="boolean")
        case Kind.DATE:
            days = [None if value is None else date.fromisoformat(str(value)) for value in known]
            return pd.Series(days, dtype="object")
        case _:
            return pd.Series(known, dtype=_DTYPES[kind])


# No value changes.

_NAME = "answers"


@frozen
class ArrowRows:
    """Rows that other libraries read by `__arrow_c_stream__`; each reading computes them anew."""

    relation: duckdb.DuckDBPyRelation
    database: Database

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def arrow_rows(rows: Rows, columns: Sequence[AnswerColumn]) -> ArrowRows:
    """Give some columns of some rows, and their verdicts. Raises `ConstatError`."""
    answers = rows.answers
    stored = _stored(rows)
    places = [answers.columns.index(column) for column in columns]
    return ArrowRows(_typed(stored, answers, columns, places), stored.database)


def _stored(rows: Rows) -> StoredRows:
    """Give the rows as they lie in a DuckDB, with the verdict as a last column where it varies."""
    answers = rows.answers
    if isinstance(rows.values, StoredRows) and answers.alike:
        return rows.values  # noqa: PD011  no frame of pandas
    kinds = (*(column.kind for column in answers.columns), Kind.SYMBOL, Kind.NUMBER)
    from constat.sql import Database  # noqa: PLC0415  loaded when it is used

    database = Database(Resources(), allowed=())
    database.declare(Relation(_NAME, kinds, (False,) * len(kinds), given=True, derived=False))
    try:
        # The last column keeps the order that the rows have.
        numbered = enumerate(rows)
        cells = ((*map(_known, one.values), one.verdict.value, n) for n, one in numbered)
        database.load_rows(_NAME, cells)
    except StrategyError as problem:
        message = f"the answers do not fit columns of one type each: {problem}"
        raise ConstatError([Diagnostic("C0433", message, help="write CSV or JSON lines")]) from None
    free = Atom(_NAME, tuple(Variable(f"v{place}") for place in range(len(kinds))))
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    relation = database.select(_NAME, free)
    named = [
        ColumnExpression(name).alias(f"v{place}") for place, name in enumerate(relation.columns)
    ]
    order = ((len(kinds) - 1, False),)
    return StoredRows(relation.select(*named), kinds, len(rows), database, order)


def _known(value: Value | NullCell) -> Value | None:
    """Give a value; nothing for one that nobody knows."""
    return None if isinstance(value, NullCell) else value


def _typed(
    stored: StoredRows, answers: Answers, columns: Sequence[AnswerColumn], places: Sequence[int]
) -> duckdb.DuckDBPyRelation:
    from duckdb import ColumnExpression, ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

    taken = {column.name for column in columns}
    told = [
        _cell(stored, column.kind, place).alias(column.name)
        for column, place in zip(columns, places, strict=True)
    ]
    width = len(answers.columns)
    plain = len(stored.kinds) == width
    alike = answers.unchecked(Verdict.PROVED).value
    verdict = ConstantExpression(alike) if plain else ColumnExpression(f"v{width}")
    return stored.selected().select(*told, verdict.alias(free_name("verdict", taken)))


def _cell(stored: StoredRows, kind: Kind, place: int) -> duckdb.Expression:
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    column = ColumnExpression(f"v{place}")
    match kind:
        case Kind.DATE:
            return column.cast("DATE")
        case Kind.TIMESTAMP:
            return column.cast("TIMESTAMP WITH TIME ZONE")
        case Kind.BOOL:
            return column.cast("BOOLEAN")
        case Kind.DECIMAL:
            return column.cast(f"DECIMAL(38, {_places(stored, place)})")
        case _:
            return column


def _places(stored: StoredRows, place: int) -> int:
    """Give how many decimal places the values of a column need."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression  # noqa: PLC0415  heavy library, loaded on first use

    text = ColumnExpression(f"v{place}").cast("VARCHAR")
    short = FunctionExpression("rtrim", text, ConstantExpression("0"))
    point = FunctionExpression("strpos", text, ConstantExpression("."))
    used = FunctionExpression("length", short) - point
    found = stored.selected().aggregate([FunctionExpression("max", used)]).fetchall()
    return int(found[0][0] or 0)
