"""Large tables as Parquet files that are named by their content.

In: a table and a folder. Out: the file's name, or the table that a file holds. Invariants: a file
appears whole, is on the disk when its name is given, and is never changed; a file whose content
does not have the hash of its name is an error and never rows. Column names are kept where DuckDB,
which does not tell `a` from `A`, can tell them apart. Example: `write_parquet(table, folder)`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.store.tables_format import (
    FIXED,
    TEXTUAL,
    Column,
    Table,
    TableError,
    checked,
    column_of,
    missing_mask,
    spelled_decimal,
    text_cells,
    text_column,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_WIDEST: Final = 38


def parquet_name(sha256: str) -> str:
    """Name the file of a content."""
    return f"{sha256}.parquet"


def write_parquet(table: Table, folder: Path, sha256: str) -> str:
    """Write a table, unless it is there already. Raises `OSError` or `TableError`."""
    target = folder / parquet_name(sha256)
    if target.exists() and _is_whole(target, table, sha256):
        return target.name
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".new-", dir=folder)
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
    return target.name


def read_parquet(path: Path, columns: Sequence[tuple[str, str]], sha256: str) -> Table:
    """Read a table whose columns are known. Raises `TableError` where it is not that content."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    if not path.is_file():
        raise TableError("the file of a table is missing")
    try:
        with contextlib.closing(_opened()) as connection:
            relation = connection.read_parquet(str(path))
            if len(relation.columns) != len(columns):
                raise TableError("the file of a table is damaged")
            wanted = [
                f"{_read_as(_quoted(name), kind)} AS c{place}"
                for place, (name, (_, kind)) in enumerate(
                    zip(relation.columns, columns, strict=True)
                )
            ]
            cells = relation.select(", ".join(wanted)).fetchnumpy()
    except duckdb.Error:
        raise TableError("the file of a table is damaged") from None
    rows = len(cells["c0"]) if columns else 0
    made = [_column(name, kind, cells[f"c{place}"]) for place, (name, kind) in enumerate(columns)]
    table = checked(Table(tuple(made), rows))
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


def _opened() -> duckdb.DuckDBPyConnection:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # The order of rows is content.
        "preserve_insertion_order": True,
    }
    return duckdb.connect(":memory:", config=settings)


def _copy(table: Table, target: Path) -> None:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    names = _names(table)
    cells: dict[str, Any] = {}
    wanted = []
    for place, column in enumerate(table.columns):
        missing = missing_mask(column, table.rows)
        cells[f"c{place}"] = _cells(column, missing)
        cells[f"m{place}"] = missing
        written = _written_as(f"c{place}", column)
        alias = _quoted(names[place])
        wanted.append(f"CASE WHEN m{place} THEN NULL ELSE {written} END AS {alias}")
    text = str(target).replace("'", "''")
    try:
        with contextlib.closing(_opened()) as connection:
            connection.register("cells", cells)
            connection.execute(
                f"COPY (SELECT {', '.join(wanted)} FROM cells) TO '{text}'"  # noqa: S608  quoted names
                " (FORMAT parquet, COMPRESSION zstd)"
            )
    except duckdb.Error as problem:
        reason = "no room is left" if "No space" in str(problem) else "DuckDB cannot write it"
        raise OSError(reason) from None


def _names(table: Table) -> list[str]:
    distinct = {name.casefold() for name in table.names}
    if len(distinct) == len(table.names):
        return list(table.names)
    return [f"c{place}" for place in range(len(table.names))]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cells(column: Column, missing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if column.kind in TEXTUAL:
        found = np.empty(len(column.ends) // 8, object)
        found[:] = text_cells(column)
        found[missing] = None
        return found
    return np.frombuffer(column.data, FIXED[column.kind])


def _written_as(name: str, column: Column) -> str:
    match column.kind:
        case "Bool":
            return f"({name} = 1)"
        case "Date":
            return f"(DATE '1970-01-01' + {name})"
        case "Timestamp":
            return f"make_timestamp({name})"
        case "Decimal":
            scale = _scale(column)
            return f"CAST({name} AS DECIMAL({_WIDEST}, {scale}))" if scale is not None else name
        case _:
            return name


def _scale(column: Column) -> int | None:
    """Give the digits after the point that all cells need; `None` where they need too many."""
    after = before = 0
    for text in text_cells(column):
        whole, _, fraction = text.lstrip("-").partition(".")
        before, after = max(before, len(whole)), max(after, len(fraction))
    return after if before + after <= _WIDEST else None


def _read_as(name: str, kind: str) -> str:
    match kind:
        case "Bool":
            return f"CAST({name} AS UTINYINT)"
        case "Date":
            return f"CAST(datediff('day', DATE '1970-01-01', {name}) AS INTEGER)"
        case "Timestamp":
            return f"epoch_us({name})"
        case "Decimal":
            return f"CAST({name} AS VARCHAR)"
        case _:
            return name


def _column(name: str, kind: str, cells: Any) -> Column:  # noqa: ANN401  masked or not
    masked = np.ma.getmaskarray(cells)
    if kind in TEXTUAL:
        texts = [
            None if gone or cell is None else str(cell)
            for cell, gone in zip(np.ma.getdata(cells).tolist(), masked.tolist(), strict=True)
        ]
        if kind == "Decimal":
            texts = [None if text is None else _canonical(text) for text in texts]
        return text_column(name, kind, texts)
    plain = np.ma.filled(cells, 0) if np.ma.isMaskedArray(cells) else cells
    return column_of(name, kind, plain.astype(FIXED[kind]).tobytes(), masked)


def _canonical(text: str) -> str:
    try:
        return spelled_decimal(Decimal(text))
    except InvalidOperation:
        raise TableError("the file of a table is damaged") from None


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
