"""Look at a source: open it, name its state, read its tables, infer relationships."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import QueryMistakeError, SourceFailureError
from constat.catalog.drivers import open_connection
from constat.catalog.schema import local, servers
from constat.catalog.schema.described import Relationship, family_of
from constat.catalog.schema.servers import introspect as inspect_other
from constat.catalog.schema.words import singular, words_of
from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.project import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.connection import Connection
    from constat.catalog.schema.described import ColumnSchema, SourceSchema, TableSchema
    from constat.project import Project
    from constat.project.apis import ApiSetting
    from constat.project.settings import CatalogSetting

_MOST_WORDS: Final = 6
_MOST_TARGETS: Final = 3
_PLAIN_KEYS: Final = frozenset({("id",), ("key",), ("code",), ("number",), ("no",)})

Words = tuple[str, ...]


@frozen
class _Target:
    """A column that other tables may name. `unique` where it is declared to be a key."""

    table: TableSchema
    column: ColumnSchema
    unique: bool


def with_inferred(source: SourceSchema) -> SourceSchema:
    """Add what names suggest."""
    targets = _targets(source.tables)
    return replace(source, tables=tuple(_related(table, targets) for table in source.tables))


def _targets(tables: Sequence[TableSchema]) -> Mapping[Words, list[_Target]]:
    """Give the columns that may be pointed to, by the words that another table would use."""
    found: dict[Words, list[_Target]] = defaultdict(list)
    for table in tables:
        for column, unique in _keys(table):
            noun, words = singular(words_of(table.name)), words_of(column.name)
            if not noun or not words:
                continue
            target = _Target(table, column, unique)
            if words[-len(noun) - 1 : -1] == noun:
                # The key is named after its table already: `customers.customer_id`.
                found[words].append(target)
            elif words in _PLAIN_KEYS:
                found[(*noun, *words)].append(target)
    return found


def _keys(table: TableSchema) -> Iterator[tuple[ColumnSchema, bool]]:
    """Give the columns that identify a row by themselves, as declared or as named."""
    single = {one[0] for one in (table.key, *table.unique) if len(one) == 1}
    for column in table.columns:
        if column.name in single:
            yield column, True
        elif not table.key and not table.unique and table.kind != "view":
            # Files declare nothing: what is called `id` is taken for one.
            words = words_of(column.name)
            if words and words[-1:] in _PLAIN_KEYS:
                yield column, False


def _related(table: TableSchema, targets: Mapping[Words, list[_Target]]) -> TableSchema:
    declared = {one.columns[0] for one in table.relationships if len(one.columns) == 1}
    inferred = [
        relationship
        for column in table.columns
        if column.name not in declared
        for relationship in _pointing(table, column, targets)
    ]
    return replace(table, relationships=(*table.relationships, *inferred))


def _pointing(
    table: TableSchema, column: ColumnSchema, targets: Mapping[Words, list[_Target]]
) -> Iterator[Relationship]:
    words = words_of(column.name)[-_MOST_WORDS:]
    for skipped in range(len(words) - 1):
        fitting = [
            one
            for one in targets.get(words[skipped:], ())
            if not (one.table is table and one.column is column) and _comparable(one.column, column)
        ]
        near = [one for one in fitting if one.table.schema == table.schema] or fitting
        if near:
            for one in near[:_MOST_TARGETS]:
                yield _relationship(column, one, len(near), prefixed=bool(skipped))
            return


def _comparable(one: ColumnSchema, other: ColumnSchema) -> bool:
    first, second = family_of(one.declared), family_of(other.declared)
    return first == second or not first or not second


def _relationship(
    column: ColumnSchema, target: _Target, alternatives: int, *, prefixed: bool
) -> Relationship:
    what = "ends with" if prefixed else "is"
    evidence = f"its name {what} that of the {'key' if target.unique else 'column'} it points to"
    if not target.unique:
        evidence += ", which no declaration calls a key"
    if alternatives > 1:
        evidence += f"; {alternatives} tables fit"
    name = target.column.name
    return Relationship(
        (column.name,), target.table.label, (name,), declared=False, evidence=evidence
    )


_FILES: Final = "files"


@frozen
class Look:
    """A state and what it holds; `schema` is `None` where the state is the known one, or failed.

    `failure` is why the source could not be looked at.
    """

    fingerprint: str = ""
    schema: SourceSchema | None = None
    failure: str = ""
    changes: tuple[str, ...] = ()
    """What an API says otherwise than before, where it was asked anew."""


def look_at(
    source: Database | ApiSetting, project: Project, known: str, *, anew: bool = False
) -> Look:
    """Look at a source whose last known fingerprint is `known`.

    With `anew` an API is asked for its description, which is kept else.
    """
    try:
        look = _looked(source, project, known, anew=anew)
    except (SourceFailureError, QueryMistakeError) as problem:
        return Look(failure=problem.reason)
    except ConstatError as problem:
        return Look(failure=problem.diagnostics[0].message)
    if look.schema is None:
        return look
    shown = _without_hidden(look.schema, project.catalog)
    return replace(look, schema=shown if shown.dialect == "api" else with_inferred(shown))


def _looked(source: Database | ApiSetting, project: Project, known: str, *, anew: bool) -> Look:
    if not isinstance(source, Database):
        from constat.catalog.schema import operations  # noqa: PLC0415  loaded when it is used

        state, schema, changes = operations.look_at_api(source, project, known, anew=anew)
        return Look(state, schema, changes=changes)
    seconds, database = project.catalog.seconds, source
    if database.kind == _FILES:
        return Look(*local.look(database, project.folder, seconds, known))
    with reading(database, project) as connection:
        return _look(connection, database.name, seconds, known)


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
        found = local.fingerprint(connection, seconds)
        same = found == known
        return Look(found, None if same else local.introspect(connection, name, seconds))
    match connection.dialect:
        case "duckdb":
            found = str(connection.snapshot)
            same = found == known
            return Look(found, None if same else local.introspect_duckdb(connection, name, seconds))
        case "postgres":
            found = servers.fingerprint_postgresql(connection, seconds)
            same = found == known
            read = None if same else servers.introspect_postgresql(connection, name, seconds)
            return Look(found, read)
        case "mysql":
            found = servers.fingerprint(connection, seconds)
            same = found == known
            return Look(
                found, None if same else servers.introspect_mysql(connection, name, seconds)
            )
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
