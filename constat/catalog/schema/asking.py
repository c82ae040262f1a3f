"""Ask a table of the catalog for something: queries of ours over names of the source.

In: a table and an open connection. Out: rows. Invariants: names are identifiers that the dialect
quotes, never pasted text; each query passes the guard as a user's would, and has its bounds; a
table of which only a beginning is read is read from a subquery with a limit. Example: for a column
`;drop` of `t` the text is `SELECT ";drop" FROM "t" LIMIT 10`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import Question, ReadBounds
from constat.catalog.guard import guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.catalog.connection import Connection, RawRow
    from constat.catalog.schema.described import TableSchema

_MOST_ROWS: Final = 100_000


def source_of(table: TableSchema) -> exp.Table:
    """Give a table as it stands behind FROM."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    name = exp.to_identifier(table.name, quoted=True)
    schema = exp.to_identifier(table.schema, quoted=True) if table.schema else None
    return exp.Table(this=name, db=schema)


def column_of(name: str, table: str = "") -> exp.Column:
    """Give a column of the source, quoted."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    qualifier = exp.to_identifier(table, quoted=True) if table else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier)


def as_text(column: exp.Expr) -> exp.Expr:
    """Give what spells a column as text."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.cast(column, "TEXT")


def beginning(table: TableSchema, columns: Sequence[str], most: int) -> exp.Select:
    """Give a query for the first rows of a table, in no particular order."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.select(*map(column_of, dict.fromkeys(columns))).from_(source_of(table)).limit(most)


def written(query: exp.Expr, dialect: str) -> str:
    """Give the text of a query of ours in the source's SQL."""
    return query.sql(dialect=dialect)


def ask(connection: Connection, query: exp.Expr, seconds: float) -> list[RawRow]:
    """Run a query of ours. Raises `SourceFailureError` and `QueryMistakeError`."""
    guarded = guard(written(query, connection.dialect), connection.dialect)
    # Files are loaded when a query is first described.
    connection.columns(guarded.text)
    question, bounds = (
        Question(guarded.text, tables=guarded.tables),
        ReadBounds(seconds, _MOST_ROWS),
    )
    rows: list[RawRow] = []
    for batch in connection.read(question, bounds):
        rows += batch
    return rows


def count(connection: Connection, query: exp.Expr, seconds: float) -> int:
    """Run a query that gives one number."""
    ((found,),) = ask(connection, query, seconds)
    number: Any = found or 0
    return int(number)
