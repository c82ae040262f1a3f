"""What a database of a MySQL or MariaDB server says about its tables.

In: a connection that is reading. Out: a `SourceSchema`, and a fingerprint that changes with any
table, key or comment. The server lists only what the account may read; how many rows there are is
the storage engine's guess. Example: `fingerprint(connection, 30)`.
Reference: https://dev.mysql.com/doc/refman/8.4/en/information-schema.html
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import ColumnSchema, column_of

if TYPE_CHECKING:
    from constat.catalog.alchemy_reading import ServerConnection
    from constat.catalog.schema.described import SourceSchema

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


def introspect(connection: ServerConnection[Any], database: str, seconds: float) -> SourceSchema:
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
