"""Run a SELECT over earlier steps, and make its rows, or those of code, the declared relation."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog import read_cell
from constat.catalog.duck_queries import DuckColumn, Spelling, spelling
from constat.evaluation.processor import set_up_duckdb
from constat.explore.chain import at_most
from constat.explore.events import StepFailure, StepFailureError
from constat.explore.plan import lines
from constat.explore.relations import Relation, sorted_rows
from constat.frozen import frozen
from constat.logic import Kind, is_of_type
from constat.store.table_columns import Offered, canonical_stored, fetched, in_order
from constat.store.table_forms import Table
from constat.store.table_values import MANY, TableRows, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb

    from constat.catalog import Cell
    from constat.explore.plan import Output
    from constat.logic import Column, Row, Value

RESULT: Final = "result"
_MOST_ORDERED: Final = 10_000


def fit_rows(
    output: Output,
    kinds: Sequence[Kind],
    rows: Iterable[Sequence[Cell]],
    most: int,
    *,
    ordered: bool = False,
) -> Relation:
    """Read rows of raw cells, columns by position. Raises `StepFailureError`.

    `ordered` rows come in an order that people want to see, as far as that can be kept.
    """
    found: dict[Row, None] = {}
    count = 0
    for row in rows:
        count += 1
        if count > most:
            message = f"it gives more than {most:,} rows"
            hint = "sum up, or rank, earlier"
            raise StepFailureError(StepFailure("limit", message, hint=hint, public=message))
        if len(row) != len(kinds):
            raise _mistake(output, f"it gives {len(row)} columns, and {len(kinds)} are declared")
        cells = zip(row, kinds, output.columns, strict=True)
        found[tuple([_value(cell, kind, name) for cell, kind, (name, _) in cells])] = None
    relation = _distinct(output, tuple(kinds), found, count)
    if not ordered or len(found) > _MOST_ORDERED:
        return relation
    places = {row: place for place, row in enumerate(relation.rows)}
    return replace(relation, order=tuple(places[row] for row in found))


def fit_sorted(output: Output, kinds: tuple[Kind, ...], table: Table) -> Relation:
    """Take a table of these columns, in the order of its values. Raises `StepFailureError`."""
    _check_distinct(repeated(table), table.rows)
    return Relation(output, kinds, TableRows(table))


def fit_table(
    output: Output, kinds: Sequence[Kind], table: Table, most: int, many: int = MANY
) -> Relation:
    """Read a table that a step of code left, columns by name. Raises `StepFailureError`.

    From `many` rows on it is not read cell by cell, where its columns are of the kinds declared.
    """
    names = [name for name, _ in output.columns]
    missing = [name for name in names if name not in table.names]
    if missing:
        given = ", ".join(table.names) or "none"
        public = f"the table `{output.name}` has no column `{missing[0]}`"
        # What columns a table has may come from cells: a pivot names them after values.
        raise _mistake(output, f"{public}; it has {given}", public)
    chosen = [table.columns[table.names.index(name)] for name in names]
    whole = [one.kind for one in chosen] == [one.value for one in kinds]
    if many <= table.rows <= most and whole and not any(one.missing for one in chosen):
        found = in_order(Table(tuple(chosen), table.rows))
        if found is not None:
            return fit_sorted(output, tuple(kinds), found)
    columns = [table.values(table.names.index(name)) for name in names]
    rows: Iterable[Sequence[Cell]] = zip(*columns, strict=True)
    return fit_rows(output, kinds, rows, most)


def check_structures(relation: Relation, columns: Sequence[Column]) -> Relation:
    """Give the relation back once its structures are of the types that its columns declare.

    Raises `StepFailureError`: a SELECT or code may make any text of another.
    """
    places = [place for place, one in enumerate(columns) if one.kind is Kind.STRUCTURE]
    for row in relation.rows if places else ():
        for place in places:
            if not is_of_type(row[place], columns[place]):
                column = columns[place]
                message = f"a cell of the column `{column.name}` is no {column.type_name}"
                hint = "hand on structures as they were read, or make them by rules"
                raise StepFailureError(StepFailure(RESULT, message, hint=hint, public=message))
    return relation


def _value(cell: Cell, kind: Kind, name: str) -> Value:
    try:
        return read_cell(cell, kind)
    except ValueError as problem:
        message = f"a cell of the column `{name}`, declared {kind.value}, {problem}"
        hint = "cast it, or declare the column as what it is"
        if cell is None:
            hint = "leave such rows out, or put a value in its place that says so"
        failure = StepFailure(RESULT, message, hint=hint, public=message)
        raise StepFailureError(failure) from None


def _distinct(
    output: Output, kinds: tuple[Kind, ...], found: dict[Row, None], count: int
) -> Relation:
    _check_distinct(count - len(found), count)
    return Relation(output, kinds, sorted_rows(list(found)))


def _check_distinct(again: int, count: int) -> None:
    if again:
        message = f"{again:,} of its {count:,} rows are there twice"
        hint = "add the column that tells them apart, or write SELECT DISTINCT if they are one fact"
        public = "some of its rows are there twice"
        raise StepFailureError(StepFailure(RESULT, message, hint=hint, public=public))


def _mistake(output: Output, message: str, public: str = "") -> StepFailureError:
    hint = f"give exactly `{output.declaration}`"
    return StepFailureError(StepFailure(RESULT, message, hint=hint, public=public or message))


# Where a table is given, reading cell by cell (`fit_rows`) would have given the same values; what
# is missing, of another kind or only nearly a value is left to that way, which says what is wrong.

_WHOLE: Final = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
)


def result_table(
    connection: duckdb.DuckDBPyConnection, source: str, output: Output, kinds: Sequence[Kind]
) -> Table | None:
    """Give the table; `None` where rows have to be read one by one. `source` is quoted already."""
    described = connection.execute(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608  our name
    columns = [DuckColumn(name, kind.id, str(kind)) for name, kind, *_ in described.description]
    described.fetchall()
    if not columns or len(columns) != len(kinds):
        return None
    pairs = enumerate(zip(columns, kinds, strict=True))
    found = [_spelling(column, kind, place) for place, (column, kind) in pairs]
    spellings = [one for one in found if one is not None]
    if len(spellings) < len(found):
        return None
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    renamed = f"(SELECT * FROM {source}) AS q({names})"  # noqa: S608  our name
    wrong = " OR ".join(f"c{place} IS NULL OR {one.wrong}" for place, one in enumerate(spellings))
    if connection.execute(f"SELECT bool_or({wrong}) FROM {renamed}").fetchall()[0][0]:  # noqa: S608  our names
        return None
    values = ", ".join(f"{one.value} AS v{place}" for place, one in enumerate(spellings))
    order = ", ".join(f"v{place}" for place in range(len(columns)))
    relation = connection.sql(f"SELECT {values} FROM {renamed} ORDER BY {order}")  # noqa: S608  our names
    wanted = [(name, kind.value) for (name, _), kind in zip(output.columns, kinds, strict=True)]
    stored = [canonical_stored(f"v{place}", kind) for place, (_, kind) in enumerate(wanted)]
    return fetched(relation, wanted, stored)


def _spelling(column: DuckColumn, kind: Kind, place: int) -> Spelling | None:
    if kind is not Kind.DECIMAL:
        return spelling(column, kind, place)
    # A table spells each decimal by itself, so that their places need not fit one type.
    if column.kind == "decimal":
        return Spelling(f"c{place}", "false")
    return Spelling(f"CAST(c{place} AS DECIMAL(38, 0))", "false") if column.kind in _WHOLE else None


_BATCH: Final = 10_000
_MOST_DIGITS: Final = 38
_FURTHER, _ROOM = 6, 9
_LONGEST: Final = 600
_RESULT: Final = '"constat result"'
_TYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "UBIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.SYMBOL: "VARCHAR",
        Kind.STRUCTURE: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
        Kind.BOOL: "BOOLEAN",
    }
)
_CARRIED: Final = MappingProxyType(
    {Kind.NUMBER: "BIGINT", Kind.UNSIGNED: "UBIGINT", Kind.FLOAT: "DOUBLE"}
)


@frozen
class TableLimits:
    """What a SELECT over steps may use."""

    seconds: float = 60.0
    memory: int = 1 << 30


@frozen
class OutputRequest:
    """What a query is to give: a relation of so many rows at most.

    `ordered` tells whether its order is to be seen. From `many` rows on it is read by columns.
    """

    output: Output
    kinds: tuple[Kind, ...]
    most: int
    limits: TableLimits = TableLimits()
    ordered: bool = False
    many: int = MANY


def select(query: str, relations: Mapping[str, Relation], wanted: OutputRequest) -> Relation:
    """Give the rows of a query as a relation. Raises `StepFailureError`."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    limits = wanted.limits
    with contextlib.closing(_opened(limits)) as connection:
        try:
            for name, relation in relations.items():
                _load(connection, name, relation)
            connection.execute("SET enable_external_access = false").fetchall()
            connection.execute("SET lock_configuration = true").fetchall()
            with _within(connection, limits.seconds):
                bounded = at_most(query, wanted.most + 1)
                connection.execute(f"CREATE TEMP TABLE {_RESULT} AS {bounded}").fetchall()
                return _relation(connection, wanted)
        except duckdb.Error as problem:
            raise StepFailureError(_failure(problem, limits)) from None


def _relation(connection: duckdb.DuckDBPyConnection, wanted: OutputRequest) -> Relation:
    """Read the result by columns, where it is large and its types leave no doubt."""
    count = connection.execute(f"SELECT count(*) FROM {_RESULT}").fetchall()[0][0]  # noqa: S608  our name
    if wanted.many <= count <= wanted.most:
        found = result_table(connection, _RESULT, wanted.output, wanted.kinds)
        if found is not None:
            return fit_sorted(wanted.output, wanted.kinds, found)
    connection.execute(f"SELECT * FROM {_RESULT}")  # noqa: S608  our name
    batches = iter(lambda: connection.fetchmany(_BATCH), [])
    rows = (row for batch in batches for row in batch)
    return fit_rows(wanted.output, wanted.kinds, rows, wanted.most, ordered=wanted.ordered)


def _opened(limits: TableLimits) -> duckdb.DuckDBPyConnection:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "memory_limit": f"{limits.memory // (1 << 20)}MiB",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "temp_directory": "",
        },
    )
    return set_up_duckdb(connection)


def _load(connection: duckdb.DuckDBPyConnection, name: str, relation: Relation) -> None:
    """Make a table; what has no type of its own goes over as text, and is typed there, exactly."""
    if isinstance(relation.rows, TableRows):
        _load_table(connection, name, relation.rows.table, relation.names)
        return
    columns = ", ".join(
        f"CAST(unnest(?::{_CARRIED.get(kind, 'VARCHAR')}[]) AS {_type(relation, place, kind)})"
        f" AS {_name(column)}"
        for place, (kind, column) in enumerate(zip(relation.kinds, relation.names, strict=True))
    )
    cells = [_cells(relation, place, kind) for place, kind in enumerate(relation.kinds)]
    connection.execute(f"CREATE TABLE {_name(name)} AS SELECT {columns}", cells).fetchall()


def _load_table(
    connection: duckdb.DuckDBPyConnection, name: str, table: Table, names: Sequence[str]
) -> None:
    offered = Offered(connection, "constat_offered", table)
    columns = []
    for place, column in enumerate(names):
        decimal = ""
        if table.kinds[place] == Kind.DECIMAL.value:
            digits = offered.digits(place)
            decimal = _decimal_type(column, digits.whole, digits.places)
        columns.append(f"{offered.typed(place, decimal)} AS {_name(column)}")
    query = f"SELECT {', '.join(columns)} FROM {offered.name}"  # noqa: S608  quoted names
    connection.execute(f"CREATE TABLE {_name(name)} AS {query}").fetchall()
    connection.unregister(offered.name)


def _cells(relation: Relation, place: int, kind: Kind) -> list[Any]:
    cells: list[Any] = [row[place] for row in relation.rows]
    match kind:
        case Kind.DECIMAL:
            return [f"{cell:f}" for cell in cells]
        case Kind.TIMESTAMP:
            return [cell.removesuffix("Z") for cell in cells]
        case _:
            return cells


def _type(relation: Relation, place: int, kind: Kind) -> str:
    if kind is not Kind.DECIMAL:
        return _TYPES[kind]
    places = whole = 0
    for row in relation.rows:
        value = Decimal(row[place])
        exponent = value.as_tuple().exponent
        places = max(places, -exponent if isinstance(exponent, int) else 0)
        whole = max(whole, value.adjusted() + 1)
    return _decimal_type(relation.names[place], whole, places)


def _decimal_type(name: str, whole: int, places: int) -> str:
    if places + max(whole, 1) > _MOST_DIGITS:
        message = f"the decimals of `{name}` have more than 38 digits together"
        raise StepFailureError(StepFailure("limit", message, hint="use a step by rules"))
    # Further places where sums keep room before the point: a median of two lies between them.
    further = min(_FURTHER, _MOST_DIGITS - _ROOM - whole - places)
    return f"DECIMAL(38, {places + max(0, further)})"


@contextlib.contextmanager
def _within(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what runs longer than it may."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _failure(problem: duckdb.Error, limits: TableLimits) -> StepFailure:
    """Classify by DuckDB's class of error; its text may quote values, and is bounded."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    message = lines(str(problem).strip(), _LONGEST)
    match problem:
        case duckdb.InterruptException():
            return StepFailure("timeout", f"the query took longer than {limits.seconds:g} seconds")
        case duckdb.OutOfMemoryException():
            return StepFailure("memory", "the query needs more memory than it may have")
        case duckdb.ParserException():
            return StepFailure("syntax", message)
        case duckdb.CatalogException():
            return StepFailure("missing table", message)
        case duckdb.BinderException() if "not found" in message or "column" in message.lower():
            return StepFailure("missing column", message)
        case duckdb.BinderException() | duckdb.ConversionException():
            return StepFailure("type", message)
        case _:
            return StepFailure("query", message)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
