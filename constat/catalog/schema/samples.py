"""Ask a table of the catalog, and show values where the project allows that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import QueryMistakeError, Question, ReadBounds, SourceFailureError
from constat.catalog.guard import guard
from constat.catalog.schema.described import OF_DOCUMENTS, Sample, is_bytes, shortened
from constat.catalog.schema.introspection import reading
from constat.diagnostics import ConstatError, Diagnostic, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.catalog.connection import Connection, RawRow
    from constat.catalog.schema.described import ColumnSchema, TableSchema
    from constat.project import Project

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


MOST_VALUES: Final = 50
_LOOKED_AT: Final = 10_000
_LONGEST_VALUE: Final = 80


def sample(
    project: Project,
    table: TableSchema,
    columns: Sequence[str] = (),
    *,
    most: int = 5,
    allowed: bool = False,
) -> tuple[Sample, ...]:
    """Give values of some columns, or of all that may be shown.

    `allowed` is the word of a person that they may be shown. Raises `ConstatError`: C0842 where
    they may not, C0843 for a column that is not there, C0844 where the source does not answer.
    """
    found = [find_column(table, name) for name in columns] or [
        one for one in table.columns if allowed or _shows(project, table, one)
    ]
    if not found or not (allowed or all(_shows(project, table, one) for one in found)):
        raise ConstatError([_refused(table, found)])
    most = max(1, min(most, MOST_VALUES))
    if table.kind == OF_DOCUMENTS:
        from constat.catalog.schema import operations  # noqa: PLC0415  loaded when it is used

        return operations.sample_documents(project, table, found, most)
    database = project.databases[table.database]
    try:
        with reading(database, project) as connection:
            return tuple(
                _sampled(connection, table, one, most, project.catalog.seconds)
                for one in found
                if not is_bytes(one.declared)
            )
    except (SourceFailureError, QueryMistakeError) as problem:
        raise ConstatError([unanswered(table, problem.reason)]) from None


def find_column(table: TableSchema, name: str) -> ColumnSchema:
    """Find a column of a table. Raises `ConstatError` (C0843)."""
    found = table.column(name)
    if found is not None:
        return found
    near = nearest(name, [one.name for one in table.columns])
    hint = f"write `{near}`" if near else f"`constat catalog show {table.path}` lists its columns"
    message = f"the table `{table.path}` has no column `{name[:80]}`"
    raise ConstatError([Diagnostic("C0843", message, help=hint)])


def unanswered(table: TableSchema, reason: str) -> Diagnostic:
    """Say that a source did not answer about a table."""
    message = f"database `{table.database}` could not be asked about `{table.label}`: {reason}"
    return Diagnostic(
        "C0844",
        message,
        note="nothing follows from that about its rows",
        help="`constat doctor` looks at every connection",
    )


def _shows(project: Project, table: TableSchema, column: ColumnSchema) -> bool:
    return project.catalog.shows(table.database, table.label, column.name)


def _refused(table: TableSchema, columns: Sequence[ColumnSchema]) -> Diagnostic:
    name = f"{table.path}.{columns[0].name}" if len(columns) == 1 else table.path
    return Diagnostic(
        "C0842",
        f"the project does not allow values of `{name}` to be shown",
        note="values are shown, and sent to a model, only where `samples` of `catalog:` names the"
        " database, table or column",
        help=f"write `catalog: {{samples: [{_yaml(name)}]}}` in constat.yaml",
    )


def _yaml(name: str) -> str:
    """Spell a name for the configuration."""
    plain = name.replace("_", "a").replace(".", "a").isalnum() and name.isascii()
    return name if plain else "'" + name.replace("'", "''") + "'"


def _sampled(
    connection: Connection, table: TableSchema, column: ColumnSchema, most: int, seconds: float
) -> Sample:
    rows = ask(connection, _query(table, column.name, most + 1), seconds)
    values = [(shortened(value, _LONGEST_VALUE), int(str(times))) for value, times in rows[:most]]
    return Sample(column.name, tuple(values), cut=len(rows) > most)


def _query(table: TableSchema, column: str, most: int) -> exp.Select:
    """Count values among the first rows: all of a large table would take too long."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    first = beginning(table, [column], _LOOKED_AT).subquery("q")
    value, times = column_of(column, "q"), exp.Count(this=exp.Star())
    return (
        exp.select(as_text(value), times)
        .from_(first)
        .where(value.copy().is_(exp.null()).not_())
        .group_by(as_text(value.copy()))
        .order_by(times.copy().desc(), as_text(value.copy()))
        .limit(most)
    )
