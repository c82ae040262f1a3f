"""Tables on their way into DuckDB and Parquet and out of them, column by column."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.evaluation.processor import set_up_duckdb
from constat.frozen import frozen
from constat.store.table_forms import (
    FIXED,
    TEXTUAL,
    Column,
    Table,
    TableError,
    checked,
    column_of,
    missing_mask,
    text_cells,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

WIDEST: Final = 38
"""How many digits the widest decimal of DuckDB has."""
_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
# As many digits as the engines' own columns keep behind the point, and before it.
_PLACES, _WHOLE = 12, 26


@frozen
class Digits:
    """How many digits the decimals of a column have at most, before the point and behind it."""

    whole: int
    places: int

    @property
    def fits(self) -> bool:
        """Whether one DECIMAL of DuckDB holds them all."""
        return self.whole + self.places <= WIDEST


def fetched(
    relation: duckdb.DuckDBPyRelation,
    columns: Sequence[tuple[str, str]],
    expressions: Sequence[str],
) -> Table:
    """Read a table; each expression gives a column's cells as tables store them.

    See `stored`. Raises `TableError` for what no table holds, and what DuckDB raises.
    """
    if not columns:
        return checked(Table((), int(relation.aggregate("count(*)").fetchall()[0][0])))
    inner = relation.select(", ".join(f"{one} AS c{n}" for n, one in enumerate(expressions)))
    wanted = []
    for place, (_, kind) in enumerate(columns):
        empty = "''" if kind in TEXTUAL else "0"
        wanted += [f"coalesce(c{place}, {empty}) AS c{place}", f"c{place} IS NULL AS m{place}"]
        if kind in TEXTUAL:
            wanted.append(f"strlen(coalesce(c{place}, '')) AS l{place}")
    cells = inner.select(", ".join(wanted)).fetchnumpy()
    made = [_column(cells, place, name, kind) for place, (name, kind) in enumerate(columns)]
    return checked(Table(tuple(made), len(cells["m0"])))


def _column(cells: dict[str, Any], place: int, name: str, kind: str) -> Column:
    found, missing = cells[f"c{place}"], cells[f"m{place}"].astype(np.bool_)
    if kind not in TEXTUAL:
        return column_of(name, kind, found.astype(FIXED[kind]).tobytes(), missing)
    data = "".join(found.tolist()).encode()
    ends = np.cumsum(cells[f"l{place}"].astype(np.int64)).astype("<i8").tobytes()
    return column_of(name, kind, data, missing, ends)


def stored(expression: str, kind: str) -> str:
    """Write a typed column as tables store it: days, microseconds, the one spelling of decimals."""
    match kind:
        case "Bool":
            return f"CAST({expression} AS UTINYINT)"
        case "Date":
            return f"CAST(datediff('day', DATE '1970-01-01', {expression}) AS INTEGER)"
        case "Timestamp":
            return f"epoch_us({expression})"
        case "Decimal":
            text = f"CAST({expression} AS VARCHAR)"
            short = f"rtrim(rtrim({text}, '0'), '.')"
            return f"CASE WHEN contains({text}, '.') THEN {short} ELSE {text} END"
        case _:
            return expression


def canonical_stored(expression: str, kind: str) -> str:
    """Write a canonical column, whose times and truth values are texts, as tables store it."""
    match kind:
        case "Bool":
            return f"CAST({expression} = 'true' AS UTINYINT)"
        case "Date":
            return stored(f"CAST({expression} AS DATE)", kind)
        case "Timestamp":
            return stored(f"CAST(rtrim({expression}, 'Z') AS TIMESTAMP)", kind)
        case _:
            return stored(expression, kind)


class Offered:
    """A table inside a connection, under a name, until the connection ends."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, table: Table) -> None:
        self.name = name
        self._table = table
        self._connection = connection
        arrays: dict[str, Any] = {}
        for place, column in enumerate(table.columns):
            missing = missing_mask(column, table.rows)
            arrays[f"c{place}"] = _cells(column, missing)
            if column.missing:
                arrays[f"m{place}"] = missing
        connection.register(name, arrays)

    def digits(self, place: int) -> Digits:
        """Measure the decimals of a column."""
        whole = f"split_part(ltrim(c{place}, '-'), '.', 1)"
        places = f"strlen(split_part(c{place}, '.', 2))"
        # A zero before the point takes no room.
        before = f"CASE WHEN {whole} = '0' AND {places} > 0 THEN 0 ELSE strlen({whole}) END"
        found = self._connection.execute(
            f"SELECT coalesce(max({before}), 0), coalesce(max({places}), 0) FROM {self.name}"  # noqa: S608  our names
        ).fetchall()
        return Digits(int(found[0][0]), int(found[0][1]))

    def query(self) -> str:
        """Write the SELECT that gives the table with its types and names.

        DuckDB does not tell `a` from `A`: where names differ in that only, columns have numbers.
        """
        names = list(self._table.names)
        if len({name.casefold() for name in names}) < len(names):
            names = [f"c{place}" for place in range(len(names))]
        columns = [
            f"{self.typed(place, self.decimal(place))} AS {quoted(name)}"
            for place, name in enumerate(names)
        ]
        return f"SELECT {', '.join(columns)} FROM {self.name}"  # noqa: S608  quoted names

    def decimal(self, place: int) -> str:
        """Name the type of a column's decimals: text where they need too many digits together."""
        if self._table.columns[place].kind != "Decimal":
            return ""
        digits = self.digits(place)
        return f"DECIMAL({WIDEST}, {digits.places})" if digits.fits else "VARCHAR"

    def typed(self, place: int, decimal: str = "VARCHAR") -> str:
        """Write a column with its type; `decimal` is that of decimals, exact or text."""
        column = self._table.columns[place]
        written = _typed(f"c{place}", column.kind, decimal)
        return f"CASE WHEN m{place} THEN NULL ELSE {written} END" if column.missing else written

    def canonical(self) -> list[str] | None:
        """Write all columns in canonical form; `None` where a decimal is too long for that."""
        found = []
        for place, column in enumerate(self._table.columns):
            decimal = "VARCHAR"
            if column.kind == "Decimal":
                digits = self.digits(place)
                if digits.places > _PLACES or digits.whole > _WHOLE:
                    return None
                decimal = f"DECIMAL({WIDEST}, {_PLACES})"
            found.append(f"{_spelled(self.typed(place, decimal), column.kind)} AS v{place}")
        return found


def _typed(name: str, kind: str, decimal: str) -> str:
    match kind:
        case "Bool":
            return f"({name} = 1)"
        case "Date":
            return f"(DATE '1970-01-01' + {name})"
        case "Timestamp":
            return f"make_timestamp({name})"
        case "Decimal" if decimal != "VARCHAR":
            return f"CAST({name} AS {decimal})"
        case _:
            return name


def _spelled(expression: str, kind: str) -> str:
    match kind:
        case "Bool":
            return f"CASE WHEN {expression} THEN 'true' ELSE 'false' END"
        case "Date":
            return f"CAST({expression} AS VARCHAR)"
        case "Timestamp":
            return f"strftime({expression}, '{_TIME}')"
        case _:
            return expression


def _cells(column: Column, missing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if column.kind not in TEXTUAL:
        return np.frombuffer(column.data, FIXED[column.kind])
    texts = text_cells(column)
    found = np.empty(len(texts), object)
    found[:] = texts
    if column.missing:
        found[missing] = None
    return found


class CanonicalStream:
    """The rows of a table as an Arrow stream of canonical values, which may be read once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        self._connection = connection
        self._relation = connection.sql(query)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def canonical_stream(table: Table) -> CanonicalStream | None:
    """Hand out a table as `v0`, `v1` and so on; `None` where a decimal is too long for that."""
    connection = in_memory()
    offered = Offered(connection, "kept_rows", table)
    wanted = offered.canonical()
    if wanted is None:
        connection.close()
        return None
    return CanonicalStream(connection, f"SELECT {', '.join(wanted)} FROM kept_rows")  # noqa: S608  our names


def in_order(table: Table) -> Table | None:
    """Put rows in the order of their values; `None` where decimals are too long for that.

    No cell may be missing.
    """
    if not table.columns:
        return table
    columns = list(zip(table.names, table.kinds, strict=True))
    with contextlib.closing(in_memory()) as connection:
        offered = Offered(connection, "rows_to_sort", table)
        wanted = []
        for place in range(len(columns)):
            decimal = offered.decimal(place)
            if decimal == "VARCHAR":
                return None
            wanted.append(f"{offered.typed(place, decimal)} AS v{place}")
        relation = connection.table("rows_to_sort").select(", ".join(wanted))
        places = range(len(columns))
        sorted_ = relation.order(", ".join(f"v{place}" for place in places))
        return fetched(sorted_, columns, [stored(f"v{n}", columns[n][1]) for n in places])


def quoted(name: str) -> str:
    """Give a text as a name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def in_memory() -> duckdb.DuckDBPyConnection:
    """Open a database in memory that keeps the order of rows and loads nothing from outside."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        # The order of rows is content.
        "preserve_insertion_order": True,
    }
    return set_up_duckdb(duckdb.connect(":memory:", config=settings))


NEW: Final = ".new-"
"""How the names of files begin that are being written."""


def write_parquet(table: Table, target: Path, sha256: str) -> None:
    """Write a table, unless it is there already. Raises `OSError` or `TableError`."""
    folder = target.parent
    if target.exists() and _is_whole(target, table, sha256):
        return
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=NEW, dir=folder)
    os.close(descriptor)
    try:
        _copy(table, Path(name))
        _flush(Path(name))
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _flush(folder)


def read_parquet(path: Path, columns: Sequence[tuple[str, str]], sha256: str) -> Table:
    """Read a table whose columns are known. Raises `TableError` where it is not that content."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    if not path.is_file():
        raise TableError("the file of a table is missing")
    try:
        with contextlib.closing(in_memory()) as connection:
            relation = connection.read_parquet(str(path))
            if len(relation.columns) != len(columns):
                raise TableError("the file of a table is damaged")
            pairs = zip(relation.columns, columns, strict=True)
            table = fetched(
                relation, columns, [stored(quoted(name), kind) for name, (_, kind) in pairs]
            )
    except duckdb.Error:
        raise TableError("the file of a table is damaged") from None
    if table.sha256 != sha256:
        raise TableError("the file of a table holds another content than it was kept with")
    return table


def _is_whole(target: Path, table: Table, sha256: str) -> bool:
    columns = list(zip(table.names, table.kinds, strict=True))
    try:
        read_parquet(target, columns, sha256)
    except TableError:
        return False
    return True


def _copy(table: Table, target: Path) -> None:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    text = str(target).replace("'", "''")
    try:
        with contextlib.closing(in_memory()) as connection:
            query = Offered(connection, "cells", table).query()
            connection.execute(
                f"COPY ({query}) TO '{text}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
            ).fetchall()
    except duckdb.Error as problem:
        reason = "no room is left" if "No space" in str(problem) else "DuckDB cannot write it"
        raise OSError(reason) from None


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
