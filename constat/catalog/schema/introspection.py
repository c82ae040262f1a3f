"""Look at a source: open it, name its state, read its tables, infer relationships.

Where a manifest of dbt describes the tables, what it says of them is taken over: descriptions,
and as keys, relationships and lists of values what its tests and contracts demand of all rows.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import QueryMistakeError, SourceFailureError
from constat.catalog.drivers import open_connection
from constat.catalog.schema import local
from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import (
    ColumnSchema,
    Relationship,
    column_of,
    family_of,
    shortened,
)
from constat.catalog.schema.words import singular, words_of
from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.project import Database
from constat.project.documents import DocumentsSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.engine import Inspector
    from sqlalchemy.types import TypeEngine

    from constat.catalog.connection import Connection
    from constat.catalog.other_database import OtherConnection
    from constat.catalog.schema.described import SourceSchema, TableSchema
    from constat.catalog.server_reading import ServerConnection
    from constat.project import Project
    from constat.project.apis import ApiSetting
    from constat.project.settings import CatalogSetting

# What servers say about their tables: PostgreSQL, MySQL, MariaDB, and others by inspection.


def introspect(connection: OtherConnection, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views of the default schema."""
    until = time.monotonic() + seconds
    return connection.inspected(
        lambda looking: _Inspection(connection, looking, database, until).schema(), seconds
    )


class _Inspection:
    """One look at all tables, until a moment of `time.monotonic`."""

    def __init__(
        self, connection: OtherConnection, looking: Inspector, database: str, until: float
    ) -> None:
        self._connection = connection
        self._looking = looking
        self._until = until
        self._found = Assembly(database, connection.dialect)

    def schema(self) -> SourceSchema:
        looking = self._looking
        listed = [(name, "table") for name in looking.get_table_names()]
        listed += [(name, "view") for name in looking.get_view_names()]
        for name, kind in listed:
            comment = self._asked(name, "comments", looking.get_table_comment) or {}
            self._found.table(name, name, kind=kind, comment=comment.get("text"))
            for one in self._asked(name, "columns", looking.get_columns) or ():
                column = column_of(
                    one["name"],
                    self._type_text(one["type"]),
                    nullable=bool(one.get("nullable", True)),
                    comment=one.get("comment"),
                )
                self._found.column(name, column)
            if kind == "table":
                self._add_keys(name)
        return self._found.finished()

    def _add_keys(self, name: str) -> None:
        found, looking = self._found, self._looking
        key = self._asked(name, "keys", looking.get_pk_constraint) or {}
        found.key(name, [str(one) for one in key.get("constrained_columns") or ()], primary=True)
        for unique in self._asked(name, "unique columns", looking.get_unique_constraints) or ():
            found.key(name, [str(one) for one in unique["column_names"]], primary=False)
        for one in self._asked(name, "relationships", looking.get_foreign_keys) or ():
            if not one.get("referred_schema"):
                columns, targets = one["constrained_columns"], one["referred_columns"]
                found.pointing(name, columns, one["referred_table"], targets)

    def _asked(self, name: str, what: str, ask: Callable[[str], Any]) -> Any:  # noqa: ANN401  what an inspector gives
        """Ask for something that not every dialect, and not for every table, can tell.

        Raises what ends the whole look: a connection that is lost, the time that is up.
        """
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  heavy library, loaded on first use

        try:
            return ask(name)
        except NotImplementedError:
            self._found.left_out(f"the dialect does not tell {what}")
        except SQLAlchemyError as problem:
            if time.monotonic() > self._until or not self._connection.goes_on(problem):
                raise
            self._found.problem(name, f"its {what} are not known ({type(problem).__name__})")
        except (ValueError, KeyError) as problem:
            # Dialects read definitions with expressions of their own, and stumble over odd ones.
            self._found.problem(name, f"its {what} are not known ({type(problem).__name__})")
        return None

    def _type_text(self, kind: TypeEngine[Any]) -> str:
        """Spell a type in the source's words; one that its dialect cannot spell by its name."""
        from sqlalchemy.exc import CompileError  # noqa: PLC0415  heavy library, loaded on first use
        from sqlalchemy.types import NullType  # noqa: PLC0415  heavy library, loaded on first use

        if isinstance(kind, NullType):
            return ""
        try:
            return kind.compile(self._looking.dialect)
        except (CompileError, NotImplementedError):
            return type(kind).__name__


_TABLES: Final = """
    SELECT table_name, table_type, table_rows, table_comment
    FROM information_schema.tables WHERE table_schema = DATABASE()
"""
_COLUMNS: Final = """
    SELECT table_name, column_name, column_type, is_nullable, column_comment, extra
    FROM information_schema.columns WHERE table_schema = DATABASE()
    ORDER BY table_name, ordinal_position
"""
_KEYS: Final = """
    SELECT c.table_name, c.constraint_name, c.constraint_type, k.column_name,
           k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name
    FROM information_schema.table_constraints c
    JOIN information_schema.key_column_usage k
        ON k.constraint_schema = c.constraint_schema AND k.table_name = c.table_name
       AND k.constraint_name = c.constraint_name
    WHERE c.table_schema = DATABASE() AND k.table_schema = DATABASE()
      AND c.constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
    ORDER BY c.table_name, c.constraint_name, k.ordinal_position
"""
_HASHED: Final = """
    (SELECT CONCAT_WS(',', COUNT(*), SUM(CRC32(CONCAT_WS('|', {0}))),
        BIT_XOR(CRC32(CONCAT_WS('/', {0})))) FROM information_schema.{1}
     WHERE table_schema = DATABASE())
"""
_FINGERPRINT: Final = "SELECT CONCAT_WS(';', DATABASE(), {}, {}, {})".format(
    _HASHED.format("table_name, table_type, table_comment", "tables"),
    _HASHED.format(
        "table_name, ordinal_position, column_name, column_type, is_nullable, column_comment,"
        " extra",
        "columns",
    ),
    _HASHED.format(
        "table_name, constraint_name, ordinal_position, column_name,"
        " IFNULL(referenced_table_name, ''), IFNULL(referenced_column_name, '')",
        "key_column_usage",
    ),
)


def fingerprint(connection: ServerConnection[Any], seconds: float) -> str:
    """Name the present tables, columns, keys and comments."""
    ((found,),) = connection.look(_FINGERPRINT, seconds)
    return f"mysql {found}"


def introspect_mysql(
    connection: ServerConnection[Any], database: str, seconds: float
) -> SourceSchema:
    """Read all tables and views of the database that the uri names."""
    found = Assembly(database, connection.dialect)
    rows: list[tuple[Any, ...]] = connection.look(_TABLES, seconds)
    for name, kind, count, comment in rows:
        view = kind != "BASE TABLE"
        # A view's comment is the word VIEW.
        said = None if view else comment
        found.table(
            name, name, kind="view" if view else "table", rows=None if view else count, comment=said
        )
    for row in connection.look(_COLUMNS, seconds):
        _add_column(found, row)
    found.empty_views("its columns are not known: what it reads is gone, or may not be read")
    _add_keys(found, connection.look(_KEYS, seconds))
    return found.finished()


def _add_column(found: Assembly, row: tuple[Any, ...]) -> None:
    table, name, declared, nullable, comment, extra = row
    one = column_of(name, declared, nullable=nullable == "YES", comment=comment)
    if "GENERATED" in str(extra).upper().replace("DEFAULT_GENERATED", ""):
        one = ColumnSchema(one.name, one.declared, one.nullable, one.comment, generated=True)
    found.column(table, one)


def _add_keys(found: Assembly, rows: list[tuple[Any, ...]]) -> None:
    for (table, _, kind), grouped in groupby(rows, key=lambda row: row[:3]):
        listed = list(grouped)
        columns = [row[3] for row in listed]
        if kind == "FOREIGN KEY":
            found.pointing(table, columns, listed[0][5], [row[6] for row in listed])
        else:
            found.key(table, columns, primary=kind == "PRIMARY KEY")


_READABLE: Final = """
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
"""
_FROM_TABLES: Final = f"""
    SELECT c.oid::int8, n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid),
           c.reltuples::float8, obj_description(c.oid, 'pg_class')
    {_READABLE}
"""
_FROM_COLUMNS: Final = """
    SELECT a.attrelid::int8, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
           col_description(a.attrelid, a.attnum), a.attgenerated::text
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum
"""
_NAMES: Final = """
    array_to_json(ARRAY(
        SELECT a.attname::text FROM unnest({1}) WITH ORDINALITY AS parts(number, place)
        JOIN pg_attribute a ON a.attrelid = {0} AND a.attnum = parts.number
        ORDER BY parts.place))::text
"""
_FROM_KEYS: Final = f"""
    SELECT i.indrelid::int8, i.indisprimary,
           {_NAMES.format("i.indrelid", "(i.indkey::int2[])[0:i.indnkeyatts - 1]")}
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND c.relnamespace >= 2200 ORDER BY i.indexrelid
"""  # noqa: S608  no text from outside
_POINTING: Final = f"""
    SELECT k.conrelid::int8, k.confrelid::int8, {_NAMES.format("k.conrelid", "k.conkey")},
           {_NAMES.format("k.confrelid", "k.confkey")}
    FROM pg_constraint k WHERE k.contype = 'f' ORDER BY k.oid
"""  # noqa: S608  no text from outside
_FROM_FINGERPRINT: Final = f"""
    SELECT md5(concat_ws('/', current_database(),
        (SELECT string_agg(concat_ws('|', n.nspname, c.oid, c.relname, c.relkind,
             pg_table_is_visible(c.oid)), ';' ORDER BY c.oid) {_READABLE}),
        (SELECT string_agg(concat_ws('|', attrelid, attnum, attname, atttypid, atttypmod,
             attnotnull, has_column_privilege(attrelid, attnum, 'SELECT')), ';'
             ORDER BY attrelid, attnum)
         FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0 AND NOT attisdropped),
        (SELECT string_agg(concat_ws('|', oid, conrelid, contype, conkey, confrelid, confkey), ';'
             ORDER BY oid) FROM pg_constraint WHERE conrelid >= 16384),
        (SELECT string_agg(concat_ws('|', indexrelid, indrelid, indisunique, indisvalid, indkey),
             ';' ORDER BY indexrelid) FROM pg_index WHERE indrelid >= 16384),
        (SELECT string_agg(concat_ws('|', objoid, objsubid, description), ';'
             ORDER BY objoid, objsubid) FROM pg_description
         WHERE classoid = 'pg_class'::regclass AND objoid >= 16384)))
"""  # noqa: S608  no text from outside
_KINDS: Final = ("v", "m")


def fingerprint_postgresql(connection: ServerConnection[Any], seconds: float) -> str:
    """Name the present tables, columns, keys and comments."""
    ((found,),) = connection.look(_FROM_FINGERPRINT, seconds)
    return f"postgresql {found}"


def introspect_postgresql(
    connection: ServerConnection[Any], database: str, seconds: float
) -> SourceSchema:
    """Read all tables and views that the account may read."""
    found = Assembly(database, connection.dialect)
    for row in connection.look(_FROM_TABLES, seconds):
        _add_table(found, row)
    for row in connection.look(_FROM_COLUMNS, seconds):
        _from_add_column(found, row)
    for identity, primary, columns in connection.look(_FROM_KEYS, seconds):
        found.key(identity, _listed(columns), primary=bool(primary))
    for identity, target, columns, targets in connection.look(_POINTING, seconds):
        found.pointing(identity, _listed(columns), target, _listed(targets))
    return found.finished()


def _add_table(found: Assembly, row: tuple[Any, ...]) -> None:
    identity, schema, name, kind, visible, rows, comment = row
    found.table(
        identity,
        name,
        "" if visible else schema,
        "view" if kind in _KINDS else "table",
        # A view has no estimate, and a table that was never analysed says -1.
        rows=None if kind == "v" else rows,
        comment=comment,
    )


def _from_add_column(found: Assembly, row: tuple[Any, ...]) -> None:
    identity, name, declared, nullable, comment, generated = row
    one = column_of(name, declared, nullable=bool(nullable), comment=comment)
    if generated:
        one = ColumnSchema(one.name, one.declared, one.nullable, one.comment, generated=True)
    found.column(identity, one)


def _listed(written: object) -> list[str]:
    return [str(name) for name in json.loads(str(written))]


# Look at a source: open it, name its state, read its tables, infer relationships.

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


def across(
    table: TableSchema, others: Iterable[TableSchema]
) -> Iterator[tuple[TableSchema, TableSchema, Relationship]]:
    """Infer from names what a table points to in other sources, and what of them points to it.

    What points to something in its own source is left out.
    """
    table = _untyped(table)
    own = _targets([table])
    for other in map(_untyped, others):
        for one, targets in ((table, _targets([other])), (other, own)):
            there = {name for each in one.relationships for name in each.columns}
            target = other if one is table else table
            for column in one.columns:
                if column.name not in there:
                    found = _pointing(one, column, targets)
                    yield from ((one, target, relationship) for relationship in found)


def _untyped(table: TableSchema) -> TableSchema:
    """Take the types off what is text as files and documents are, whatever it spells."""
    if any(one.declared not in {"VARCHAR", "text"} for one in table.columns):
        return table
    return replace(table, columns=tuple(replace(one, declared="") for one in table.columns))


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
    source: Database | ApiSetting | DocumentsSetting,
    project: Project,
    known: str,
    *,
    anew: bool = False,
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


def _looked(
    source: Database | ApiSetting | DocumentsSetting, project: Project, known: str, *, anew: bool
) -> Look:
    if not isinstance(source, Database):
        from constat.catalog.schema import operations  # noqa: PLC0415  loaded when it is used

        if isinstance(source, DocumentsSetting):
            return Look(*operations.look_at_documents(source, project, "" if anew else known))
        state, schema, changes = operations.look_at_api(source, project, known, anew=anew)
        return Look(state, schema, changes=changes)
    if not source.manifest:
        return _read(source, project, known)
    manifest = Manifest(source.manifest, project.folder)
    seen, _, described = known.partition(_DESCRIBED)
    look = _read(source, project, seen if described == manifest.state else "")
    fingerprint = f"{look.fingerprint}{_DESCRIBED}{manifest.state}" if look.fingerprint else ""
    schema = None if look.schema is None else manifest.described(look.schema)
    return replace(look, fingerprint=fingerprint, schema=schema)


def _read(database: Database, project: Project, known: str) -> Look:
    seconds = project.catalog.seconds
    if database.kind == _FILES:
        return Look(*local.look(database, project.folder, seconds, known))
    with reading(database, project) as connection:
        return _look(connection, database.name, seconds, known)


@contextmanager
def reading(database: Database, project: Project) -> Iterator[Connection]:
    """Give a connection that reads one state, and is closed or kept afterwards."""
    connection = open_connection(database, project.folder, project.catalog.seconds)
    kept = False
    try:
        connection.begin()
        yield connection
        connection.release()
        if database.opened is not None:
            database.opened.give(database, connection)
            kept = True
    finally:
        if not kept:
            connection.close()


def _look(connection: Any, name: str, seconds: float, known: str) -> Look:  # noqa: ANN401  each kind of connection in its branch
    if isinstance(connection, SqliteConnection):
        found = local.fingerprint(connection, seconds)
        same = found == known
        return Look(found, None if same else local.introspect(connection, name, seconds))
    match connection.dialect:
        case "duckdb":
            found = connection.snapshot or ""
            same = bool(found) and found == known
            return Look(found, None if same else local.introspect_duckdb(connection, name, seconds))
        case "postgres":
            found = fingerprint_postgresql(connection, seconds)
            same = found == known
            read = None if same else introspect_postgresql(connection, name, seconds)
            return Look(found, read)
        case "mysql":
            found = fingerprint(connection, seconds)
            same = found == known
            return Look(found, None if same else introspect_mysql(connection, name, seconds))
        case _:
            return Look("", introspect(connection, name, seconds))


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


# A manifest is what `dbt build` leaves in `target/manifest.json`: JSON, with an entry for each
# model, seed, snapshot, source and test. Everything in it is taken for a claim: drafts are held
# against the rows, and `check-data` tells which of them break it.

MODEL: Final = "model"
"""The kind of a table or view that a manifest calls a model."""
_DESCRIBED: Final = " manifest 2:"
_LARGEST_MANIFEST: Final = 512 << 20
_RELATIONS: Final = (MODEL, "seed", "snapshot", "source")
_UNIQUE: Final = ("unique", "unique_combination_of_columns")
_TESTS: Final = MappingProxyType(
    {
        None: ("unique", "not_null", "relationships", "accepted_values"),
        "dbt_utils": _UNIQUE[1:],
    }
)
_IN_CONTRACTS: Final = MappingProxyType(
    {
        "not_null": ("not_null",),
        "unique": ("unique",),
        "primary_key": ("unique", "not_null"),
        "foreign_key": ("relationships",),
    }
)
"""What tests say that a constraint of a contract says."""
_REFERENCE: Final = re.compile(r"""\bref\((?:[^)]*,)?\s*['"]([^'"]+)['"]\s*\)""")
_MOST_ACCEPTED: Final = 200
_MOST_USES: Final = 3
_MOST_MISSING: Final = 20
_BY_TEST: Final = "a test of dbt says so"


@frozen
class _Described:
    """A relation of a manifest: where it is stored, and what is said of it and of its columns."""

    kind: str
    name: str
    schema: str
    comment: str
    columns: Mapping[str, str] = field(hash=False)


@frozen
class _Demand:
    """A test that all rows of `node` have to pass; of a relationship with the node it points to."""

    test: str
    node: str
    columns: tuple[str, ...]
    target: str = ""
    target_columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


class Manifest:
    """What a manifest of dbt says; `state` names its content, or why it cannot be read."""

    def __init__(self, path: str, folder: Path) -> None:
        self._path = path
        self.problem = ""
        self._described: Mapping[str, _Described] = {}
        self._demands: Mapping[str, Sequence[_Demand]] = {}
        try:
            file = folder / path
            if file.stat().st_size > _LARGEST_MANIFEST:
                self.problem = f"it is larger than {_LARGEST_MANIFEST >> 20} MiB"
            else:
                content = file.read_bytes()
                self.state = hashlib.sha256(content).hexdigest()[:32]
                self._described, self._demands = _said(json.loads(content))
        except OSError as problem:
            self.problem = problem.strerror or type(problem).__name__
        except (ValueError, RecursionError):
            self.problem = "it is no manifest of dbt"
        self.state = self.problem or self.state

    def described(self, source: SourceSchema) -> SourceSchema:
        """Give the tables with what the manifest says of them, and say what it has beside them."""
        if self.problem:
            said = f"the manifest `{shortened(self._path, 200)}` was not read: {self.problem}"
            return replace(source, problems=(*source.problems, said))
        labels, missing = self._places(source.tables)
        by_label = {one.label: one for one in source.tables}
        places = {node: by_label[label] for node, label in labels.items()}
        nodes = {label: node for node, label in labels.items()}
        tables = [
            self._table(one, nodes[one.label], places) if one.label in nodes else one
            for one in source.tables
        ]
        listed = ", ".join(f"`{shortened(one, 80)}`" for one in missing[:_MOST_MISSING])
        more = f" and {len(missing) - _MOST_MISSING:,} more" if missing[_MOST_MISSING:] else ""
        problems = list(source.problems)
        if missing:
            problems.append(f"no table is there for {listed}{more} of the manifest")
        return replace(source, tables=tuple(tables), problems=tuple(problems))

    def _places(self, tables: Sequence[TableSchema]) -> tuple[dict[str, str], list[str]]:
        """Give the label of the table of each node, and the names of those without one."""
        labels: dict[str, str] = {}
        missing: list[str] = []
        by_name: dict[str, list[TableSchema]] = defaultdict(list)
        for table in tables:
            by_name[table.name.casefold()].append(table)
        for node, one in self._described.items():
            alike = by_name[one.name.casefold()]
            exact = [table for table in alike if table.schema.casefold() == one.schema.casefold()]
            # Where no query has to name the schema, the table says none.
            fitting = exact or [table for table in alike if not table.schema]
            if len(fitting) == 1 and fitting[0].label not in labels.values():
                labels[node] = fitting[0].label
            elif one.kind != "source":
                missing.append(one.name)
        return labels, missing

    def _table(
        self, table: TableSchema, node: str, places: Mapping[str, TableSchema]
    ) -> TableSchema:
        said, demands = self._described[node], self._demands.get(node, ())
        names = {column.name.casefold(): column.name for column in table.columns}
        known = [one for one in demands if names.keys() >= set(one.columns)]
        filled = {name for one in known if one.test == "not_null" for name in one.columns}
        accepted = {names[one.columns[0]]: one.values for one in known if one.values}
        unique = [one.columns for one in known if one.test in _UNIQUE]
        keys = [one for one in unique if filled.issuperset(one)]
        key = table.key or (tuple(names[each] for each in keys[0]) if keys else ())
        others = (tuple(names[each] for each in one) for one in unique)
        columns = [
            replace(
                one,
                comment=said.columns.get(one.name.casefold()) or one.comment,
                nullable=one.nullable and one.name.casefold() not in filled,
            )
            for one in table.columns
        ]
        lacking = [one for one in said.columns if one not in names]
        return replace(
            table,
            kind=MODEL if said.kind == MODEL else table.kind,
            comment=said.comment or table.comment,
            columns=tuple(columns),
            key=key,
            accepted=tuple(accepted.items()),
            unique=tuple(dict.fromkeys((*table.unique, *(one for one in others if one != key)))),
            relationships=(
                *table.relationships,
                *_demanded(table, known, names, places),
            ),
            problems=(
                *table.problems,
                *(f"it has no column `{shortened(one, 80)}` of the manifest" for one in lacking),
            ),
        )


def _demanded(
    table: TableSchema,
    demands: Sequence[_Demand],
    names: Mapping[str, str],
    places: Mapping[str, TableSchema],
) -> Iterator[Relationship]:
    """Give the relationships that tests demand and the source itself does not declare."""
    declared = {(one.columns, one.target) for one in table.relationships}
    for one in demands:
        own, target = tuple(names[each] for each in one.columns), places.get(one.target)
        if one.test != "relationships" or target is None:
            continue
        columns = [target.column(name) for name in one.target_columns]
        there = tuple(column.name for column in columns if column is not None)
        if len(there) == len(own) and (own, target.label) not in declared:
            yield Relationship(own, target.label, there, evidence=_BY_TEST)


def _said(
    manifest: object,
) -> tuple[dict[str, _Described], dict[str, list[_Demand]]]:
    """Give relations, and demands by relation; entries of another form are passed over.

    Raises `ValueError` for what is no manifest.
    """
    if "/dbt/manifest/" not in str(_in(manifest, "metadata").get("dbt_schema_version")):
        raise ValueError
    described: dict[str, _Described] = {}
    demands: dict[str, list[_Demand]] = defaultdict(list)
    contracts: list[_Demand] = []
    uses = _uses(manifest)
    for name, node in {**_in(manifest, "nodes"), **_in(manifest, "sources")}.items():
        kind, config = _in(node, "").get("resource_type"), _in(node, "config")
        if kind == "test" and (demand := _demand(node, config)) is not None:
            demands[demand.node].append(demand)
        if kind not in _RELATIONS or config.get("materialized") == "ephemeral":
            continue
        columns = {
            column.casefold(): _line(_in(said, "").get("description"))
            for column, said in _in(node, "columns").items()
        }
        stored = node.get("alias") or node.get("identifier") or node.get("name")
        comment = _line(f"{_line(node.get('description'))} {uses.get(name, '')}")
        contracts.extend(_contract(name, node))
        described[name] = _Described(kind, str(stored), str(node.get("schema")), comment, columns)
    for demand in contracts:
        # A contract names a table, or a model by `ref`; which node that is, is known now.
        nodes = [name for name, one in described.items() if one.name == demand.target]
        if demand.test != "relationships":
            demands[demand.node].append(demand)
        elif len(nodes) == 1:
            demands[demand.node].append(replace(demand, target=nodes[0]))
    return described, demands


def _contract(node: str, said: Mapping[str, Any]) -> Iterator[_Demand]:
    """Read the constraints of a contract that dbt enforces; the names of targets are left."""
    config = _in(_in(said, "config"), "contract")
    if not (_in(said, "contract").get("enforced") or config.get("enforced")):
        return
    stated = [(one, one.get("columns")) for one in _objects(said.get("constraints"))]
    for name, column in _in(said, "columns").items():
        stated += [(one, [name]) for one in _objects(_in(column, "").get("constraints"))]
    for one, listed in stated:
        columns = tuple(name.casefold() for name in _texts(listed))
        target, others = str(one.get("to") or ""), tuple(_texts(one.get("to_columns")))
        reference = _REFERENCE.search(target)
        plain = reference[1] if reference else target.rpartition(".")[2].strip('`"[]')
        for test in _IN_CONTRACTS.get(str(one.get("type")), ()) if columns else ():
            if test == "not_null":
                yield from (_Demand(test, node, (name,)) for name in columns)
            elif test != "relationships" or len(others) == len(columns):
                yield _Demand(test, node, columns, plain, others)


def _uses(manifest: object) -> dict[str, str]:
    """Say by node which exposures use it, such as a dashboard."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in _in(manifest, "exposures").values():
        said = _in(one, "")
        kind, name = said.get("type"), said.get("label") or said.get("name")
        owner = _in(said, "owner").get("name")
        whose = f" of {_line(owner)}" if owner else ""
        for node in _texts(_in(said, "depends_on").get("nodes")):
            found[node].append(f"the {_line(kind) or 'use'} {_line(name)}{whose}")
    return {node: _listed_uses(uses) for node, uses in found.items()}


def _listed_uses(uses: Sequence[str]) -> str:
    more = f" and {len(uses) - _MOST_USES:,} more" if uses[_MOST_USES:] else ""
    return f"Used by {', '.join(uses[:_MOST_USES])}{more}."


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _demand(test: Mapping[str, Any], config: Mapping[str, Any]) -> _Demand | None:
    """Read a test; `None` for one that a row may break, or that is not known here."""
    told = _in(test, "test_metadata")
    of, name, space = _in(told, "kwargs"), told.get("name"), told.get("namespace")
    loose = config.get("where") or config.get("limit") or config.get("enabled") is False
    warns = str(config.get("severity") or "error").casefold() != "error"
    counts = (config.get("error_if"), config.get("fail_calc"))
    others = counts[0] not in (None, "!= 0") or counts[1] not in (None, "count(*)")
    if not isinstance(space, str | None) or name not in _TESTS.get(space, ()):
        return None
    listed = of.get("combination_of_columns") or [of.get("column_name")]
    columns = tuple(one.casefold() for one in _texts(listed))
    if loose or warns or others or not columns or len(columns) != len(listed):
        return None
    node, field_name = str(test.get("attached_node")), str(of.get("field"))
    if name == "accepted_values":
        values = _accepted(of)
        return _Demand(name, node, columns, values=values) if values else None
    nodes = _texts(_in(test, "depends_on").get("nodes"))
    target = next((one for one in nodes if one != node), node)
    return _Demand(str(name), node, columns, target, (field_name,))


def _accepted(of: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the values of a test as text; none of what is no plain list of texts and numbers."""
    values = of.get("values")
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_ACCEPTED:
        return ()
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        return ()
    # Without quotes a text is SQL: a name, or something that is computed.
    if of.get("quote") is False and any(isinstance(one, str) for one in values):
        return ()
    return tuple(dict.fromkeys(str(one) for one in values))


def _in(value: object, key: str) -> Mapping[str, Any]:
    """Give an object of JSON, or the one under a key of it; an empty one where there is none."""
    found = value if isinstance(value, dict) else {}
    inner = found.get(key) if key else found
    return inner if isinstance(inner, dict) else {}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _line(text: object) -> str:
    """Give a description in one line."""
    return shortened(" ".join(text.split())) if isinstance(text, str) else ""
