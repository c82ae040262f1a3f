"""What SQLite files, DuckDB files and folders of files say about their tables."""

from __future__ import annotations

import hashlib
from contextlib import closing
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import QueryMistakeError, SourceFailureError
from constat.catalog.duck_session import DuckSession, named, quoted
from constat.catalog.file_tables import FileTable, find_tables, state_name
from constat.catalog.files import fetching, header_of, load_arrow, rows_of, sheet_rows
from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import ColumnSchema, SourceSchema, column_of
from constat.project.files import SEPARATED, split_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from constat.catalog.duck_queries import DuckReading
    from constat.catalog.remote import Objects
    from constat.catalog.sqlite import SqliteConnection
    from constat.project import Database

_MASTER: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
_TABLES: Final = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
_SHADOWS: Final = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"
_COLUMNS: Final = """
    SELECT m.name, c.name, c.type, c."notnull", c.pk, c.hidden
    FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = '{}' ORDER BY m.rowid, c.cid
"""
_OF_VIEW: Final = """
    SELECT '', name, type, "notnull", pk, hidden FROM pragma_table_xinfo({}) ORDER BY cid
"""
_UNIQUE: Final = """
    SELECT m.name, l.name, i.name
    FROM sqlite_master m, pragma_index_list(m.name) l, pragma_index_info(l.name) i
    WHERE m.type = 'table' AND l."unique" AND NOT l.partial AND l.origin <> 'pk'
    ORDER BY m.name, l.name, i.seqno
"""
_POINTING: Final = """
    SELECT m.name, f.id, f."table", f."from", f."to"
    FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq
"""
_STATISTICS: Final = "SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl"
# What SQLite calls a column: 1 is hidden, 2 and 3 are computed.
_HIDDEN: Final = 1


def fingerprint(connection: SqliteConnection, seconds: float) -> str:
    """Name the present tables: the text of every definition."""
    found = hashlib.sha256()
    for row in connection.look(_MASTER, seconds):
        found.update(repr(row).encode("utf-8", "surrogatepass"))
    return f"sqlite {found.hexdigest()[:32]}"


def introspect(connection: SqliteConnection, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views."""
    found = Assembly(database, connection.dialect)
    shadows = _quietly(connection, _SHADOWS, seconds)
    without = {str(name) for (name,) in shadows}
    analysed = {str(name): count for name, count in _quietly(connection, _STATISTICS, seconds)}
    views: list[str] = []
    for name, kind in connection.look(_TABLES, seconds):
        label = str(name)
        if label in without or label.lower().startswith("sqlite_"):
            continue
        if kind == "view":
            views.append(label)
            found.table(label.lower(), label, kind="view")
        else:
            _add_table(found, connection, label, analysed.get(label), seconds)
    _add_columns(found, connection.look(_COLUMNS.format("table"), seconds))
    _add_views(found, connection, views, seconds)
    _add_keys(found, connection, seconds)
    return found.finished()


def _add_table(
    found: Assembly, connection: SqliteConnection, name: str, analysed: object, seconds: float
) -> None:
    """Add a table with a guess of its rows; one without rows is known to be empty."""
    try:
        ((last,),) = connection.look(f"SELECT max(rowid) FROM {_named(name)}", seconds)  # noqa: S608  quoted
    except SourceFailureError:
        # A table without row numbers.
        found.table(name.lower(), name, rows=None if analysed is None else float(str(analysed)))
        return
    found.table(name.lower(), name, rows=float(str(last or 0)), counted=last is None)


def _add_columns(found: Assembly, rows: list[tuple[Any, ...]]) -> None:
    for name, listed in groupby(rows, key=lambda row: str(row[0])):
        columns = list(listed)
        keys: list[tuple[int, str]] = []
        single = sum(bool(row[4]) for row in columns) == 1
        for _, column, declared, required, place, hidden in columns:
            if hidden == _HIDDEN:
                continue
            # Of all keys only the row number itself is never NULL.
            number = bool(place) and single and str(declared).upper() == "INTEGER"
            one = column_of(column, declared, nullable=not required and not number)
            if hidden:
                one = ColumnSchema(one.name, one.declared, one.nullable, generated=True)
            found.column(name.lower(), one)
            if place:
                keys.append((int(place), str(column)))
        found.key(name.lower(), [column for _, column in sorted(keys)], primary=True)


def _add_views(
    found: Assembly, connection: SqliteConnection, views: list[str], seconds: float
) -> None:
    try:
        _add_columns(found, connection.look(_COLUMNS.format("view"), seconds))
    except SourceFailureError:
        # One broken view spoils the list of all of them.
        for view in views:
            try:
                rows = connection.look(_OF_VIEW.format(_quoted(view)), seconds)
                _add_columns(found, [(view, *row[1:]) for row in rows])
            except SourceFailureError as problem:
                found.problem(view.lower(), f"its columns are not known: {problem.reason}")


def _add_keys(found: Assembly, connection: SqliteConnection, seconds: float) -> None:
    for (table, _), listed in _grouped(connection.look(_UNIQUE, seconds)):
        columns = [row[2] for row in listed]
        # An index over an expression has a column without a name.
        if None not in columns:
            found.key(str(table).lower(), [str(one) for one in columns], primary=False)
    for (table, _), listed in _grouped(connection.look(_POINTING, seconds)):
        pointing = [str(row[3]) for row in listed]
        targets = [str(row[4]) for row in listed if row[4] is not None]
        found.pointing(str(table).lower(), pointing, str(listed[0][2]).lower(), targets)


def _grouped(
    rows: list[tuple[object, ...]],
) -> Iterator[tuple[tuple[object, ...], list[tuple[object, ...]]]]:
    for key, listed in groupby(rows, key=lambda row: row[:2]):
        yield key, list(listed)


def _quietly(
    connection: SqliteConnection, statement: str, seconds: float
) -> list[tuple[object, ...]]:
    """Ask what an older SQLite, or a file that nobody has analysed, cannot tell."""
    try:
        return connection.look(statement, seconds)
    except SourceFailureError:
        return []


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_HERE: Final = "NOT internal AND database_name = current_database()"
_FROM_TABLES: Final = f"""
    SELECT schema_name, table_name, 'table', estimated_size, comment FROM duckdb_tables()
    WHERE {_HERE}
    UNION ALL SELECT schema_name, view_name, 'view', NULL, comment FROM duckdb_views()
    WHERE {_HERE}
"""  # noqa: S608  no text from outside
_FROM_COLUMNS: Final = f"""
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
    FROM duckdb_columns() WHERE {_HERE} ORDER BY table_oid, column_index
"""  # noqa: S608  no text from outside
_KEYS: Final = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names,
           referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = current_database()
      AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
    ORDER BY table_oid, constraint_index
"""
_DEFAULT: Final = "main"


def introspect_duckdb(connection: DuckReading, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views."""
    found = Assembly(database, connection.dialect)
    for row in connection.look(_FROM_TABLES, seconds):
        schema, name, kind, estimate, comment = map(_text, row)
        # The estimate counts rows that were deleted and not yet cleared away.
        count = float(estimate) if estimate else None
        shown = "" if schema == _DEFAULT else schema
        found.table((schema, name), name, shown, kind, rows=count, comment=comment)
    for name, reason in connection.problems().items():
        found.table((_DEFAULT, name), name)
        found.problem((_DEFAULT, name), reason)
    for schema_name, table, column, declared, nullable, said in connection.look(
        _FROM_COLUMNS, seconds
    ):
        one = column_of(column, declared, nullable=bool(nullable), comment=said)
        found.column((str(schema_name), str(table)), one)
    for row in connection.look(_KEYS, seconds):
        _add_key(found, row)
    for name, parent in connection.parents().items():
        found.pointing((_DEFAULT, name), ["_parent"], (_DEFAULT, parent), ["_id"])
    return found.finished()


def _add_key(found: Assembly, row: tuple[Any, ...]) -> None:
    schema, table, kind, columns, target, targets = row
    identity = (str(schema), str(table))
    if kind == "FOREIGN KEY":
        # DuckDB's foreign keys do not leave their schema.
        found.pointing(identity, list(columns), (str(schema), str(target)), list(targets or ()))
    else:
        found.key(identity, list(columns), primary=kind == "PRIMARY KEY")


def _text(value: object) -> str:
    return "" if value is None else str(value)


_TEXT: Final = "VARCHAR"
_MOST_OBJECTS: Final = 1_000
_BEGINNING: Final = 1 << 16


def look(
    database: Database, folder: Path, seconds: float, known: str
) -> tuple[str, SourceSchema | None]:
    """Give the fingerprint, and the tables where it is another one than `known`."""
    objects = fetching(database, seconds)
    try:
        return _looked(database, folder, seconds, known, objects)
    finally:
        if objects is not None:
            objects.close()


def _looked(
    database: Database, folder: Path, seconds: float, known: str, objects: Objects | None
) -> tuple[str, SourceSchema | None]:
    local = {name: one for name, one in database.files.items() if not one.scheme}
    tables = find_tables(local, folder)
    for name in sorted(database.files.keys() - local.keys()):
        if objects is None:
            continue
        try:
            tables[name] = objects.table(database.files[name])
        except SourceFailureError as problem:
            tables[name] = FileTable(database.files[name], failure=problem.reason)
    fingerprint = state_name(tables)
    if fingerprint == known:
        return fingerprint, None
    found = Assembly(database.name, "duckdb")
    for name, table in tables.items():
        found.table(name, name, kind="file")
        try:
            if table.setting.lake and not table.failure:
                _describe_lake(found, name, table, folder, seconds)
            else:
                _describe(found, name, table, seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            found.problem(name, problem.reason)
        except OSError as problem:
            found.problem(name, f"its files cannot be read ({type(problem).__name__})")
    return fingerprint, found.finished()


def _describe(found: Assembly, name: str, table: FileTable, seconds: float) -> None:
    if table.failure:
        raise SourceFailureError(table.failure, "C0541")
    match table.setting.ending:
        case ".parquet":
            _describe_parquet(found, name, table.files, seconds)
        case ending if ending in SEPARATED:
            _describe_separated(found, name, table)
        case ".arrow" | ".arrows" | ".feather":
            _describe_arrow(found, name, table.files[0], seconds)
        case ".xlsx":
            with closing(sheet_rows(table.files[0], table.setting)) as rows:
                for title in next(rows):
                    found.column(name, column_of(title, _TEXT, nullable=True))
        case _:
            _, part = split_part(table.setting.pattern)
            objects = list(islice(rows_of(table.files[0], part), _MOST_OBJECTS))
            listed = bool(part) or table.setting.ending == ".json"
            found.table(name, name, kind="file", rows=None if listed else _lines(table))
            for one in dict.fromkeys(key for row in objects for key in row):
                found.column(name, column_of(one, _TEXT, nullable=True))
            if len(objects) == _MOST_OBJECTS:
                found.problem(name, f"its columns are those of the first {_MOST_OBJECTS:,} lines")


def _describe_separated(found: Assembly, name: str, table: FileTable) -> None:
    names = header_of(table.files[0], table.setting)
    footer = table.setting.footer
    below = footer if isinstance(footer, int) else len(table.setting.words)
    others = len(table.files) * (1 + table.setting.skip + below)
    found.table(name, name, kind="file", rows=max(0, _lines(table) - others))
    for one in names:
        found.column(name, column_of(one, _TEXT, nullable=True))
    if len(names) == 1 and (other := next((c for c in ";\t|" if c in names[0]), "")):
        word = "tab" if other == "\t" else f'"{other}"'
        found.problem(name, f"it has one column; write `separator: {word}` for its file")


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


def _describe_lake(
    found: Assembly, name: str, table: FileTable, folder: Path, seconds: float
) -> None:
    from constat.catalog.lakes import load_lake  # noqa: PLC0415  loaded when it is used

    session = DuckSession(None)
    try:
        load_lake(session, name, table, folder, seconds, empty=True)
        columns = session.columns(f"SELECT * FROM {named(name)}")  # noqa: S608  a name of the project
    finally:
        session.close()
    for column in columns:
        found.column(name, column_of(column.name, column.written, nullable=True))


def _lines(table: FileTable) -> float:
    """Guess the number of lines from the beginning of the first file and the sizes of all."""
    with table.files[0].open("rb") as file:
        beginning = file.read(_BEGINNING)
    size = sum(file.stat().st_size for file in table.files)
    lines = max(beginning.count(b"\n"), 1)
    if size <= len(beginning):
        return beginning.count(b"\n") + (not beginning.endswith(b"\n") and bool(beginning))
    return float(size * lines // len(beginning))
