"""Run a SELECT over the relations of earlier steps, in a DuckDB that sees nothing else.

In: a query that the guard has passed, and relations. Out: the relation of its rows. Invariants: the
database is in memory, opens no file and takes no setting any more once the relations are in it; a
query is bounded in time and memory; the same relations give the same rows in the same order, since
they are loaded in the order of their values and read by one thread. Many rows go in and out by
columns, few of them cell by cell, and both ways say the same. Example:
`select("SELECT region, sum(total) FROM totals GROUP BY region", {"totals": relation}, wanted)`.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.explore.failures import StepFailure, StepFailureError
from constat.explore.fitting import fit_rows, fit_sorted
from constat.explore.result_tables import result_table
from constat.explore.step_sql import at_most
from constat.explore.texts import lines
from constat.logic import Kind
from constat.store.tables_cells import Offered
from constat.store.tables_rows import MANY, TableRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

    from constat.explore.plan import Output
    from constat.explore.relations import Relation
    from constat.store.tables_format import Table

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


@dataclass(frozen=True, slots=True)
class TableLimits:
    """What a SELECT over steps may use."""

    seconds: float = 60.0
    memory: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a query is to give: a relation of so many rows at most.

    `ordered` tells whether its order is to be seen. From `many` rows on it is read by columns.
    """

    output: Output
    kinds: tuple[Kind, ...]
    most: int
    limits: TableLimits = TableLimits()
    ordered: bool = False
    many: int = MANY


def select(query: str, relations: Mapping[str, Relation], wanted: Wanted) -> Relation:
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


def _relation(connection: duckdb.DuckDBPyConnection, wanted: Wanted) -> Relation:
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

    return duckdb.connect(
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
