"""What a DuckDB file says about its tables.

In: a connection that is reading. Out: a `SourceSchema`. The file's own state is its fingerprint:
it costs nothing to ask, and looking again takes a few hundredths of a second. Reference:
https://duckdb.org/docs/stable/sql/meta/duckdb_table_functions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import column_of

if TYPE_CHECKING:
    from constat.catalog.duck_reading import DuckReading
    from constat.catalog.schema.described import SourceSchema

_HERE: Final = "NOT internal AND database_name = current_database()"
_TABLES: Final = f"""
    SELECT schema_name, table_name, 'table', estimated_size, comment FROM duckdb_tables()
    WHERE {_HERE}
    UNION ALL SELECT schema_name, view_name, 'view', NULL, comment FROM duckdb_views()
    WHERE {_HERE}
"""  # noqa: S608  no text from outside
_COLUMNS: Final = f"""
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


def introspect(connection: DuckReading, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views."""
    found = Assembly(database, connection.dialect)
    for row in connection.look(_TABLES, seconds):
        schema, name, kind, estimate, comment = map(_text, row)
        # The estimate counts rows that were deleted and not yet cleared away.
        count = float(estimate) if estimate else None
        shown = "" if schema == _DEFAULT else schema
        found.table((schema, name), name, shown, kind, rows=count, comment=comment)
    for schema_name, table, column, declared, nullable, said in connection.look(_COLUMNS, seconds):
        one = column_of(column, declared, nullable=bool(nullable), comment=said)
        found.column((str(schema_name), str(table)), one)
    for row in connection.look(_KEYS, seconds):
        _add_key(found, row)
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
