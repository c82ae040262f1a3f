"""Run a SELECT over the relations of earlier steps, in a DuckDB that sees nothing else.

In: a query that the guard has passed, and relations. Out: rows of raw cells. Invariants: the
database is in memory, opens no file and takes no setting any more once the relations are in it; a
query is bounded in time and memory; the same relations give the same rows in the same order, since
they are loaded in the order of their values and read by one thread. Example:
`select("SELECT region, sum(total) FROM totals GROUP BY region", {"totals": relation}, limits)`.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.explore.failures import StepFailure, StepFailureError
from constat.explore.texts import lines
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

    from constat.catalog import Cell
    from constat.explore.relations import Relation

_BATCH: Final = 10_000
_MOST_DIGITS: Final = 38
_FURTHER, _ROOM = 6, 9
_LONGEST: Final = 600
_TYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "UBIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.SYMBOL: "VARCHAR",
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


def select(
    query: str, relations: Mapping[str, Relation], limits: TableLimits
) -> Iterator[Sequence[Cell]]:
    """Yield the rows of a query. Raises `StepFailureError`."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    with contextlib.closing(_opened(limits)) as connection:
        try:
            for name, relation in relations.items():
                _load(connection, name, relation)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            with _within(connection, limits.seconds):
                connection.execute(query)
                while batch := connection.fetchmany(_BATCH):
                    yield from batch
        except duckdb.Error as problem:
            raise StepFailureError(_failure(problem, limits)) from None


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
    """Make a table; cells go over as texts and integers, and become typed there, exactly."""
    columns = ", ".join(
        f"CAST(unnest(?::{_CARRIED.get(kind, 'VARCHAR')}[]) AS {_type(relation, place, kind)})"
        f" AS {_name(column)}"
        for place, (kind, column) in enumerate(zip(relation.kinds, relation.names, strict=True))
    )
    cells = [_cells(relation, place, kind) for place, kind in enumerate(relation.kinds)]
    connection.execute(f"CREATE TABLE {_name(name)} AS SELECT {columns}", cells)


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
    if places + max(whole, 1) > _MOST_DIGITS:
        message = f"the decimals of `{relation.names[place]}` have more than 38 digits together"
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
