"""Read DuckDB files through DuckDB's own driver.

In: a path and one SELECT. Out: batches of raw rows. Invariants: the file is opened read-only and is
open only between `begin` and `release`, in one transaction: while it is open no other process can
write it, and while another one writes, it cannot be opened. So a state is named by the file's
identity, size and time, and those of its write-ahead log. Example:
`connect(database, Path("shop.duckdb"))`. Reference: https://duckdb.org/docs/stable/connect/concurrency
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.catalog.connection import SourceColumn, SourceFailureError, SourceTable
from constat.catalog.duck_queries import DuckReading
from constat.catalog.duck_session import DuckSession
from constat.catalog.file_tables import mark_of, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.catalog.connection import Question, RawRow, ReadBounds, Stream, Whole
    from constat.catalog.file_tables import Mark
    from constat.project import Database

_ATTEMPTS: Final = 5
# Programs that keep a file open for writing keep it for long: who waits longer waits in vain.
_PATIENCE_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.005
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
        self._opened: Sequence[Mark] = ()
        self.snapshot: str | None = None

    @staticmethod
    def replaced() -> bool:
        """The path is opened anew by each `begin`."""
        return False

    def begin(self) -> bool:
        """Open the file and start a transaction; tells whether another state may be read."""
        if self._session is not None:
            self._session.check_lost()
            return False
        for _ in range(_ATTEMPTS):
            before = _marks(self._path)
            settle(before)
            self._session = self._unlocked()
            self._opened = _marks(self._path)
            if before == self._opened:
                break
            self.close()
        else:
            raise SourceFailureError("it is replaced again and again")
        self.snapshot = f"file {hashlib.sha256(repr(before).encode()).hexdigest()[:16]}"
        self._session.begin()
        if self.snapshot == self._last:
            return False
        # Listing columns makes DuckDB build all its own views first: 20 ms, each time.
        self._tables = _tables(self._session)
        self._last = self.snapshot
        return True

    def _unlocked(self) -> DuckSession:
        """Open the file, once whoever writes it lets go of it for a moment."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return DuckSession(self._path)
            except SourceFailureError as problem:
                if "another program" not in problem.reason or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def release(self) -> None:
        """Close the file, so that it can be written."""
        self.close()

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; what has been written in spite of the lock is a failure, never a mixture."""
        for batch in super().read(question, bounds):
            self._check_locked()
            yield batch
        self._check_locked()

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        found = super().stream(whole, bounds)
        self._check_locked()
        return None if found is None else replace(found, changed=self._changed)

    def _check_locked(self) -> None:
        if self._changed():
            raise SourceFailureError("its file changed while it was read", "C0542")

    def _changed(self) -> bool:
        """Find out a writer who came in because somebody broke the lock.

        Whoever opens and closes the file in this process does, by whatever name.
        """
        try:
            present = _marks(self._path)
        except SourceFailureError:
            return False
        # A file that lies at the path instead is another one: what is open stays as it is.
        return present[0][:2] == self._opened[0][:2] and present != self._opened

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


def _marks(path: Path) -> list[Mark]:
    """Tell states of the file apart, and of what a writer that broke down has left beside it.

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
    return marks
