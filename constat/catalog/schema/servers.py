"""What servers say about their tables: PostgreSQL, MySQL, MariaDB, and others by inspection."""

from __future__ import annotations

import json
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import ColumnSchema, column_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Inspector
    from sqlalchemy.types import TypeEngine

    from constat.catalog.other_database import OtherConnection
    from constat.catalog.schema.described import SourceSchema
    from constat.catalog.server_reading import ServerConnection


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
