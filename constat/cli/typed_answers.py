"""Answers as a typed table of DuckDB, from which files with exact types are written.

In: the rows to write. Out: a DuckDB whose table `answers` has the types BIGINT, UBIGINT, DOUBLE,
VARCHAR, DATE, TIMESTAMP WITH TIME ZONE (microseconds, UTC), BOOLEAN, and DECIMAL(38, s) with as
many places as the values of the column have. Invariant: no value changes. A column whose values do
not fit one DECIMAL(38, s) is an error that names it, not a rounded number.
"""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Kind, NullCell
from constat.session.stored_rows import StoredRows
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from constat.cli.row_formats import Shown
    from constat.session import AnswerRow

_BATCH: Final = 20_000
_DIGITS: Final = 38
_TYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "UBIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.SYMBOL: "VARCHAR",
        Kind.STRUCTURE: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMPTZ",
        Kind.BOOL: "BOOLEAN",
    }
)


@contextmanager
def typed_answers(shown: Shown) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a DuckDB in which the rows are the table `answers`."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    plain = not shown.confidence and shown.answers.alike
    if isinstance(shown.rows.values, StoredRows) and plain:
        # The DuckDB that holds the rows is locked down; it hands them to one that may write.
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("answers", _stored(shown))
            yield connection
        return
    types = [_type(shown, place) for place in range(len(shown.columns))]
    types += ["VARCHAR", *(["DECIMAL(7, 6)"] if shown.confidence else []), "VARCHAR[]"]
    names = [*(column.name for column in shown.columns), *shown.extra()]
    # On disk, so that a million rows need not be held twice.
    with (
        Scratch() as folder,
        duckdb.connect(os.fspath(folder.path / "answers.duckdb")) as connection,
    ):
        _fill(connection, shown, names, types)
        yield connection


def _stored(shown: Shown) -> object:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    # Most queries start without what holds rows in a DuckDB.
    module = importlib.import_module("constat.session.typed_rows")
    typed = module.arrow_rows(shown.rows, shown.columns)
    names = [*(column.name for column in shown.columns), *shown.extra()]
    empty = duckdb.ConstantExpression([]).cast("VARCHAR[]").alias(names[-1])
    return module.ArrowRows(typed.relation.select(duckdb.StarExpression(), empty), typed.database)


def _fill(
    connection: duckdb.DuckDBPyConnection, shown: Shown, names: list[str], types: list[str]
) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(names, types, strict=True))
    connection.execute(f"CREATE TABLE answers ({columns})")
    # Lists travel as they are: no text is made of a value that DuckDB would have to read again.
    wanted = ", ".join(_unnested(kind) for kind in types)
    statement = f"INSERT INTO answers SELECT {wanted}"
    rows = iter(shown.rows)
    while batch := list(islice(rows, _BATCH)):
        connection.execute(statement, _columns(shown, batch))


def _columns(shown: Shown, batch: list[AnswerRow]) -> list[list[object]]:
    values = [shown.values(row) for row in batch]
    found: list[list[object]] = []
    for place, column in enumerate(shown.columns):
        # A value that nobody knows is NULL.
        cells = [None if isinstance(row[place], NullCell) else row[place] for row in values]
        texts = column.kind in {Kind.DECIMAL, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE}
        found.append([None if one is None else str(one) for one in cells] if texts else [*cells])
    found.append([row.verdict.value for row in batch])
    if shown.confidence:
        found.append([None if row.confidence is None else str(row.confidence) for row in batch])
    found.append([[one.text for one in row.assumptions] for row in batch])
    return found


def _unnested(kind: str) -> str:
    match kind:
        case "VARCHAR[]":
            return "unnest(CAST(? AS VARCHAR[][]))"
        case "BIGINT" | "UBIGINT" | "DOUBLE" | "VARCHAR":
            return f"unnest(CAST(? AS {kind}[]))"
        case _:
            return f"CAST(unnest(CAST(? AS VARCHAR[])) AS {kind})"


def _type(shown: Shown, place: int) -> str:
    column = shown.columns[place]
    if column.kind is not Kind.DECIMAL:
        return _TYPES[column.kind]
    whole, places = 1, 0
    for value in _decimals(shown, place):
        _, digits, exponent = value.as_tuple()
        after = max(0, -exponent) if isinstance(exponent, int) else 0
        places = max(places, after)
        whole = max(whole, len(digits) - after)
    if whole + places > _DIGITS:
        message = f"the values of `?{column.name}` do not fit one column of 38 digits in Parquet"
        note = f"they have up to {whole} digits before and {places} behind the point"
        raise ConstatError(
            [Diagnostic("C0433", message, note=note, help="write `--format csv` or `jsonl`")]
        )
    return f"DECIMAL(38, {places})"


def _decimals(shown: Shown, place: int) -> Iterator[Decimal]:
    cells = (shown.values(row)[place] for row in shown.rows)
    yield from (Decimal(cell) for cell in cells if not isinstance(cell, NullCell))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
