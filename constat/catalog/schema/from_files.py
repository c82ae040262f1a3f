"""What the files of a folder say about the tables they hold.

In: a database of `files:`. Out: its fingerprint and a `SourceSchema`. Invariants: only the files of
the project are read; of separated values only the first line and, for the size of the table, a
beginning; of JSON lines a beginning; of Parquet what its footer says. A file that cannot be read is
a table with a problem. Example: a CSV with the line `id,tier` is a table of two columns of text.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.catalog.arrow_files import load_arrow
from constat.catalog.duck_session import DuckSession, named, quoted
from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.file_tables import find_tables, state_name
from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import column_of
from constat.catalog.sheet_files import sheet_rows
from constat.catalog.text_files import header_of, rows_of
from constat.project.data_files import split_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.catalog.file_tables import FileTable
    from constat.catalog.schema.described import SourceSchema
    from constat.project import Database

_TEXT: Final = "VARCHAR"
_MOST_OBJECTS: Final = 1_000
_BEGINNING: Final = 1 << 16


def look(
    database: Database, folder: Path, seconds: float, known: str
) -> tuple[str, SourceSchema | None]:
    """Give the fingerprint, and the tables where it is another one than `known`."""
    patterns = {name.lower(): pattern for name, pattern in database.files.items()}
    tables = find_tables(patterns, folder)
    fingerprint = state_name(tables)
    if fingerprint == known:
        return fingerprint, None
    found = Assembly(database.name, "duckdb")
    for name, table in tables.items():
        found.table(name, name, kind="file")
        try:
            _, sheet = split_sheet(patterns[name])
            _describe(found, name, table, sheet, seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            found.problem(name, problem.reason)
        except OSError as problem:
            found.problem(name, f"its files cannot be read ({type(problem).__name__})")
    return fingerprint, found.finished()


def _describe(found: Assembly, name: str, table: FileTable, sheet: str, seconds: float) -> None:
    if table.failure:
        raise SourceFailureError(table.failure, "C0541")
    match table.files[0].suffix.lower():
        case ".parquet":
            _describe_parquet(found, name, table.files, seconds)
        case ".csv" | ".tsv" as ending:
            names = header_of(table.files[0], "\t" if ending == ".tsv" else ",")
            found.table(name, name, kind="file", rows=_lines(table) - len(table.files))
            for one in names:
                found.column(name, column_of(one, _TEXT, nullable=True))
        case ".arrow" | ".arrows" | ".feather":
            _describe_arrow(found, name, table.files[0], seconds)
        case ".xlsx":
            with closing(sheet_rows(table.files[0], sheet)) as rows:
                for title in next(rows):
                    found.column(name, column_of(title, _TEXT, nullable=True))
        case _:
            objects = list(islice(rows_of(table.files[0]), _MOST_OBJECTS))
            listed = table.files[0].suffix.lower() == ".json"
            found.table(name, name, kind="file", rows=None if listed else _lines(table))
            for one in dict.fromkeys(key for row in objects for key in row):
                found.column(name, column_of(one, _TEXT, nullable=True))
            if len(objects) == _MOST_OBJECTS:
                found.problem(name, f"its columns are those of the first {_MOST_OBJECTS:,} lines")


def _describe_parquet(found: Assembly, name: str, files: Sequence[Path], seconds: float) -> None:
    session = DuckSession(None, files)
    listed = ", ".join(quoted(str(file)) for file in files)
    try:
        reading = f"FROM read_parquet([{listed}], hive_partitioning = false)"
        ((count,),) = session.rows(f"SELECT count(*) {reading}", seconds, lambda _: None)
        columns = session.columns(f"SELECT * {reading}")
    finally:
        session.close()
    found.table(name, name, kind="file", rows=float(str(count)), counted=True)
    for column in columns:
        found.column(name, column_of(column.name, column.written, nullable=True))


def _describe_arrow(found: Assembly, name: str, file: Path, seconds: float) -> None:
    session = DuckSession(None)
    try:
        load_arrow(session, name, [file], seconds)
        columns = session.columns(f"SELECT * FROM {named(name)}")  # noqa: S608  a name of the project
        ((count,),) = session.own(f"SELECT count(*) FROM {named(name)}")  # noqa: S608  as above
    finally:
        session.close()
    found.table(name, name, kind="file", rows=float(str(count)))
    for column in columns:
        found.column(name, column_of(column.name, column.written, nullable=True))


def _lines(table: FileTable) -> float:
    """Guess the number of lines from the beginning of the first file and the sizes of all."""
    with table.files[0].open("rb") as file:
        beginning = file.read(_BEGINNING)
    size = sum(mark[2] for mark in table.marks)
    lines = max(beginning.count(b"\n"), 1)
    if size <= len(beginning):
        return beginning.count(b"\n") + (not beginning.endswith(b"\n") and bool(beginning))
    return float(size * lines // len(beginning))
