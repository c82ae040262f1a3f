"""What a PostgreSQL database says about its tables.

In: a connection that is reading. Out: a `SourceSchema`, and a fingerprint that changes with any
table, key or comment. Only what the account may read is listed; how many rows there are is what
ANALYZE has found. Example: `fingerprint(connection, 30)`. Reference: the catalogues `pg_class`,
`pg_attribute`, `pg_index`, `pg_constraint`, `pg_description`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import ColumnSchema, column_of

if TYPE_CHECKING:
    from constat.catalog.alchemy_reading import ServerConnection
    from constat.catalog.schema.described import SourceSchema

_READABLE: Final = """
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
"""
_TABLES: Final = f"""
    SELECT c.oid::int8, n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid),
           c.reltuples::float8, obj_description(c.oid, 'pg_class')
    {_READABLE}
"""
_COLUMNS: Final = """
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
_KEYS: Final = f"""
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
_FINGERPRINT: Final = f"""
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


def fingerprint(connection: ServerConnection[Any], seconds: float) -> str:
    """Name the present tables, columns, keys and comments."""
    ((found,),) = connection.look(_FINGERPRINT, seconds)
    return f"postgresql {found}"


def introspect(connection: ServerConnection[Any], database: str, seconds: float) -> SourceSchema:
    """Read all tables and views that the account may read."""
    found = Assembly(database, connection.dialect)
    for row in connection.look(_TABLES, seconds):
        _add_table(found, row)
    for row in connection.look(_COLUMNS, seconds):
        _add_column(found, row)
    for identity, primary, columns in connection.look(_KEYS, seconds):
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


def _add_column(found: Assembly, row: tuple[Any, ...]) -> None:
    identity, name, declared, nullable, comment, generated = row
    one = column_of(name, declared, nullable=bool(nullable), comment=comment)
    if generated:
        one = ColumnSchema(one.name, one.declared, one.nullable, one.comment, generated=True)
    found.column(identity, one)


def _listed(written: object) -> list[str]:
    return [str(name) for name in json.loads(str(written))]
