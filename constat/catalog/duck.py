"""Read DuckDB files through DuckDB's own driver.

In: a path and one SELECT. Out: batches of raw rows. Invariants: the file is opened read-only and is
open only between `begin` and `release`, in one transaction: while it is open no other process can
write it, and while another one writes, it cannot be opened. So a state is named by the file's
identity, size and time, and those of its write-ahead log. Example:
`connect(database, Path("shop.duckdb"))`. Reference: https://duckdb.org/docs/stable/connect/concurrency
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from constat.catalog.connection import SourceColumn, SourceTable
from constat.catalog.duck_reading import DuckReading
from constat.catalog.duck_session import DuckSession
from constat.catalog.failure import SourceFailureError
from constat.catalog.file_tables import mark_of, settle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from constat.catalog.file_tables import Mark
    from constat.project import Database

_ATTEMPTS: Final = 5
_COLUMNS: Final = """
    SELECT schema_name, table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns()
    WHERE NOT internal AND database_name = current_database() ORDER BY table_oid, column_index
"""


def connect(_: Database, path: Path) -> DuckConnection:
    """Open a file; raises `SourceFailureError` where there is none."""
    if not path.is_file():
        raise SourceFailureError(f"there is no file {path.name}")
    return DuckConnection(path)


class DuckConnection(DuckReading):
    """A read-only connection to one file; implements `Connection`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._tables: Mapping[str, SourceTable] = {}
        self._last: str | None = None
        self.snapshot: str | None = None

    @staticmethod
    def replaced() -> bool:
        """The path is opened anew by each `begin`."""
        return False

    def begin(self) -> bool:
        """Open the file and start a transaction; tells whether another state may be read."""
        if self._session is not None:
            return False
        for _ in range(_ATTEMPTS):
            before = _file_state(self._path)
            self._session = DuckSession(self._path)
            self.snapshot = _file_state(self._path)
            if before == self.snapshot:
                break
            self.close()
        else:
            raise SourceFailureError("it is replaced again and again")
        self._session.begin()
        if self.snapshot == self._last:
            return False
        # Listing columns makes DuckDB build all its own views first: 20 ms, each time.
        self._tables = _tables(self._session)
        self._last = self.snapshot
        return True

    def release(self) -> None:
        """Close the file, so that it can be written."""
        self.close()

    def tables(self) -> Mapping[str, SourceTable]:
        """Give tables and views: by `schema.name` and, in the schema `main`, by name."""
        return self._tables


def _tables(session: DuckSession) -> dict[str, SourceTable]:
    columns: dict[tuple[str, str], list[SourceColumn]] = {}
    for schema, table, column, declared, never_null in session.own(_COLUMNS):
        found = SourceColumn(str(column).lower(), str(declared), bool(never_null))
        columns.setdefault((str(schema), str(table)), []).append(found)
    tables = {}
    for (schema, name), listed in columns.items():
        table = SourceTable(name, tuple(listed), plain=True)
        tables[f"{schema}.{name}".lower()] = table
        if schema == "main":
            tables[name.lower()] = table
    return tables


def _file_state(path: Path) -> str:
    """Name the state of the file and of what a writer that broke down has left beside it.

    Looked at, never opened: closing a file gives up every lock that this process has on it.
    """
    marks: list[Mark] = []
    for file in (path, path.with_name(path.name + ".wal")):
        try:
            marks.append(mark_of(file))
        except FileNotFoundError:
            if file is path:
                raise SourceFailureError(f"there is no file {path.name}") from None
        except OSError as problem:
            reason = f"{file.name} cannot be read ({type(problem).__name__})"
            raise SourceFailureError(reason) from None
    settle(marks)
    return f"file {hashlib.sha256(repr(marks).encode()).hexdigest()[:16]}"
