"""Read CSV, Parquet and JSON lines as the tables of an empty DuckDB.

In: the files that a project names, and one SELECT. Out: batches of raw rows. Invariants: only those
files can be read; CSV and JSON lines are loaded when a query first needs them, Parquet is read
where it lies; a file that changes while one state is read makes what was read a failure, never a
mixture. Parquet files of one table must have the same columns and types: DuckDB would turn the
types of later files into those of the first. Example: `files: {orders: "data/orders-*.parquet"}`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.catalog.arrow_files import load_arrow
from constat.catalog.connection import SourceColumn, SourceTable
from constat.catalog.duck_reading import DuckReading
from constat.catalog.duck_session import DuckSession, named, quoted
from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.file_tables import FileTable, find_table, find_tables, state_name
from constat.catalog.guard import guard
from constat.catalog.sheet_files import load_sheets
from constat.catalog.text_files import damaged, drop, load_csv, load_lines
from constat.project.data_files import split_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.catalog.connection import Question, RawRow, ReadBounds, Stream, Whole
    from constat.catalog.duck_types import DuckColumn
    from constat.project import Database

# What stays as it is until a file changes; what took too long may be tried again.
_LASTING: Final = frozenset({"C0541", "C0543"})


def connect(database: Database, folder: Path, seconds: float) -> FilesConnection:
    """Give a connection; files are looked for when reading begins."""
    return FilesConnection(database.files, folder, seconds)


class FilesConnection(DuckReading):
    """Tables in files; implements `Connection`. Loading a table takes `seconds` at most."""

    def __init__(self, patterns: Mapping[str, str], folder: Path, seconds: float) -> None:
        super().__init__()
        self._patterns = {name.lower(): pattern for name, pattern in patterns.items()}
        self._folder = folder
        self._seconds = seconds
        self._found: Mapping[str, FileTable] = {}
        self._loaded: dict[str, SourceTable] = {}
        self._failed: dict[str, SourceFailureError] = {}
        self._reads = False
        self.snapshot: str | None = None

    @staticmethod
    def replaced() -> bool:
        """Files are looked at anew by each `begin`."""
        return False

    def begin(self) -> bool:
        """Look at the files; where any has changed, everything is read anew."""
        if self._reads:
            self._reading().check_lost()
            return False
        self._reads = True
        found = find_tables(self._patterns, self._folder)
        if self._session is not None and not self._session.lost and found == self._found:
            return False
        self.close()
        self._found = found
        self.snapshot = state_name(found)
        readable = [file for table in found.values() for file in table.files]
        self._session = DuckSession(None, readable)
        return True

    def release(self) -> None:
        """End reading one state; what was loaded is kept as long as its files stay the same."""
        self._reads = False

    def close(self) -> None:
        """Close the session, and forget what it held."""
        super().close()
        self._loaded.clear()
        self._failed.clear()

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables; the columns are known of those that a query has needed."""
        return {
            name: self._loaded.get(name, SourceTable(name, (), plain=False))
            for name in self._patterns
        }

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; a file that has changed meanwhile is a failure."""
        with self._held_against_beginning():
            yield from super().read(question, bounds)

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; a file that has changed meanwhile is a failure."""
        with self._held_against_beginning():
            found = super().stream(whole, bounds)
        return None if found is None else replace(found, changed=self._changed)

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            for name in sorted(guard(query, self.dialect).tables & self._patterns.keys()):
                self._load(name)
        with self._held_against_beginning():
            return super()._columns(query)

    def _load(self, name: str) -> None:
        """Make a table of its files, once for each state of them."""
        if name in self._loaded:
            return
        if name in self._failed:
            raise self._failed[name]
        try:
            self._make(name, self._found[name])
        except SourceFailureError as problem:
            if problem.code in _LASTING:
                self._failed[name] = problem
            raise
        except OSError as problem:
            reason = f"its files cannot be read ({type(problem).__name__})"
            raise SourceFailureError(reason) from None
        finally:
            if name not in self._loaded:
                drop(self._reading(), name)

    def _make(self, name: str, table: FileTable) -> None:
        if table.failure:
            raise SourceFailureError(table.failure, "C0541")
        session = self._reading()
        match table.files[0].suffix.lower():
            case ".parquet":
                _view_parquet(session, name, table.files, self._seconds)
            case ".csv" | ".tsv":
                load_csv(session, name, table.files, self._seconds)
            case ".xlsx":
                _, sheet = split_sheet(self._patterns[name])
                load_sheets(session, name, table.files, sheet, self._seconds)
            case ".arrow" | ".arrows" | ".feather":
                load_arrow(session, name, table.files, self._seconds)
            case _:
                load_lines(session, name, table.files, self._seconds)
        self._check_same(name)
        columns = tuple(
            SourceColumn(column.name.lower(), column.written, never_null=False)
            for column in session.columns(f"SELECT * FROM {named(name)}")  # noqa: S608  a name of the project
        )
        self._loaded[name] = SourceTable(name, columns, plain=False)

    @contextmanager
    def _held_against_beginning(self) -> Iterator[None]:
        """Tell of files that have changed or gone, whatever else went wrong because of that."""
        try:
            yield
        except (SourceFailureError, QueryMistakeError):
            self._check_unchanged()
            raise
        self._check_unchanged()

    def _changed(self) -> bool:
        try:
            self._check_unchanged()
        except SourceFailureError:
            return True
        return False

    def _check_unchanged(self) -> None:
        """Compare what is read where it lies; what was loaded cannot change any more."""
        for name in self._loaded:
            if self._found[name].files[0].suffix.lower() == ".parquet":
                self._check_same(name)

    def _check_same(self, name: str) -> None:
        if find_table(self._patterns[name], self._folder) != self._found[name]:
            reason = f"a file of the table {name} changed while it was read"
            raise SourceFailureError(reason, "C0542")


def _view_parquet(session: DuckSession, name: str, files: Sequence[Path], seconds: float) -> None:
    first: list[tuple[object, ...]] = []
    for place, file in enumerate(files):
        columns = session.rows(f"DESCRIBE {_parquet([file])}", seconds, partial(_no_parquet, file))
        shape = [column[:2] for column in columns]
        if place and shape != first:
            raise damaged(file, " has other columns or types than the first file of its table")
        first = shape
    session.own(f"CREATE VIEW {named(name)} AS {_parquet(files)}")


def _parquet(files: Sequence[Path]) -> str:
    listed = ", ".join(quoted(str(file)) for file in files)
    return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"  # noqa: S608  quoted


def _no_parquet(file: Path, _: str) -> SourceFailureError:
    return damaged(file, " is no Parquet file, or is damaged")
