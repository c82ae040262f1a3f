"""Look at a source: open it, name its state, and read what it says about its tables.

In: a database of the project. Out: a `Look`. Invariants: what is known already is not read again
while the source's fingerprint is the same; a source that does not answer is a failure with a
reason, never a source without tables; what the project hides is left out; nothing is written.
Example: `look_at(database, project, known="sqlite 3f...")` gives a `Look` without a schema where
nothing has changed.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.opening import open_connection
from constat.catalog.schema import from_duckdb, from_files, from_mysql, from_postgresql, from_sqlite
from constat.catalog.schema.from_inspector import introspect as inspect_other
from constat.catalog.schema.relating import with_inferred
from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.catalog.connection import Connection
    from constat.catalog.schema.described import SourceSchema, TableSchema
    from constat.project import Database, Project
    from constat.project.catalog_setting import CatalogSetting

_FILES: Final = "files"


@dataclass(frozen=True, slots=True)
class Look:
    """A state and what it holds; `schema` is `None` where the state is the known one, or failed.

    `failure` is why the source could not be looked at.
    """

    fingerprint: str = ""
    schema: SourceSchema | None = None
    failure: str = ""


def look_at(database: Database, project: Project, known: str) -> Look:
    """Look at a source whose last known fingerprint is `known`."""
    seconds = project.catalog.seconds
    try:
        if database.kind == _FILES:
            found = from_files.look(database, project.folder, seconds, known)
            look = Look(*found)
        else:
            with reading(database, project) as connection:
                look = _look(connection, database.name, seconds, known)
    except (SourceFailureError, QueryMistakeError) as problem:
        return Look(failure=problem.reason)
    except ConstatError as problem:
        return Look(failure=problem.diagnostics[0].message)
    if look.schema is None:
        return look
    shown = _without_hidden(look.schema, project.catalog)
    return replace(look, schema=with_inferred(shown))


@contextmanager
def reading(database: Database, project: Project) -> Iterator[Connection]:
    """Give a connection that reads one state, and is closed afterwards."""
    connection = open_connection(database, project.folder, project.catalog.seconds)
    try:
        connection.begin()
        yield connection
        connection.release()
    finally:
        connection.close()


def _look(connection: Any, name: str, seconds: float, known: str) -> Look:  # noqa: ANN401  each kind of connection in its branch
    if isinstance(connection, SqliteConnection):
        found = from_sqlite.fingerprint(connection, seconds)
        same = found == known
        return Look(found, None if same else from_sqlite.introspect(connection, name, seconds))
    match connection.dialect:
        case "duckdb":
            found = str(connection.snapshot)
            same = found == known
            return Look(found, None if same else from_duckdb.introspect(connection, name, seconds))
        case "postgres":
            found = from_postgresql.fingerprint(connection, seconds)
            same = found == known
            read = None if same else from_postgresql.introspect(connection, name, seconds)
            return Look(found, read)
        case "mysql":
            found = from_mysql.fingerprint(connection, seconds)
            same = found == known
            return Look(found, None if same else from_mysql.introspect(connection, name, seconds))
        case _:
            return Look("", inspect_other(connection, name, seconds))


def _without_hidden(source: SourceSchema, setting: CatalogSetting) -> SourceSchema:
    if not setting.hidden:
        return source
    tables = [
        _without_columns(table, setting)
        for table in source.tables
        if not setting.hides(source.database, table.label)
    ]
    labels = {table.label for table in tables}
    kept = [
        replace(
            table,
            relationships=tuple(one for one in table.relationships if one.target in labels),
        )
        for table in tables
    ]
    return replace(source, tables=tuple(kept))


def _without_columns(table: TableSchema, setting: CatalogSetting) -> TableSchema:
    """Leave hidden columns out, and the keys that name them."""
    columns = [
        one for one in table.columns if not setting.hides(table.database, table.label, one.name)
    ]
    names = {one.name for one in columns}
    return replace(
        table,
        columns=tuple(columns),
        key=table.key if names.issuperset(table.key) else (),
        unique=tuple(one for one in table.unique if names.issuperset(one)),
        relationships=tuple(one for one in table.relationships if names.issuperset(one.columns)),
    )
