"""Large tables as Parquet files, known by their content.

In: a table and a path. Out: the file, or the table that it holds. Invariants: a file appears whole,
is on the disk when it is there under its name, and is never changed; a file whose content does not
have the hash that it is known by is an error and never rows. Column names are kept where DuckDB,
which does not tell `a` from `A`, can tell them apart. Example: `write_parquet(table, path, hash)`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.store.tables_cells import Offered, fetched, in_memory, quoted, stored
from constat.store.tables_format import Table, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
