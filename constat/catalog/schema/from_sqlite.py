"""What an SQLite file says about its tables.

In: an open connection. Out: a `SourceSchema`, and a fingerprint that changes with any table. How
many rows a table has is taken from its largest row number, or from what ANALYZE has left. Views
that are broken have no columns, and say so. Example: `fingerprint(connection, 30)`.
Reference: https://www.sqlite.org/pragma.html
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.failure import SourceFailureError
from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import ColumnSchema, SourceSchema, column_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.catalog.sqlite import SqliteConnection

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
