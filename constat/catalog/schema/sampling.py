"""Show values of a column, where the project allows that.

In: a column of a table. Out: its most frequent values among the first rows, as text. Invariants:
without `samples` in the project's `catalog:` (or the word of the person who asks) nothing is read;
what is read is neither kept nor logged; values, their number and their length are bounded. Example:
of `accounts.tier` the values `gold` and `silver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.schema.answers import Sample
from constat.catalog.schema.asking import as_text, ask, beginning, column_of
from constat.catalog.schema.described import shortened
from constat.catalog.schema.families import is_bytes
from constat.catalog.schema.looking import reading
from constat.diagnostics import ConstatError, Diagnostic, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.catalog.connection import Connection
    from constat.catalog.schema.described import ColumnSchema, TableSchema
    from constat.project import Project

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
    database = project.databases[table.database]
    most = max(1, min(most, MOST_VALUES))
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
