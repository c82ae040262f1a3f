"""`constat catalog list [DATABASE]`: databases and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.catalog_text import grid, note_trouble, size_text
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json, write_pieces
from constat.session import Session

if TYPE_CHECKING:
    from constat.catalog.schema import DatabaseSummary
    from constat.store.catalog_index import KeptTable


@click.command(name="list", cls=PlainCommand)
@click.argument("database", required=False)
@format_option
@project_option
def command(database: str | None, *, form: str, project: str | None) -> None:
    """List the tables of DATABASE, or of all databases of the project.

    A database that does not answer is listed with the reason, and with the tables that were seen
    when it last did.

    Examples:
      constat catalog list
      constat catalog list sales --format json

    Exit codes: 0 listed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        tables = session.catalog.tables(database)
        found = session.catalog.databases()
        databases = [one for one in found if database in {None, one.name}]
        note_trouble(session.catalog.trouble)
    if form == "json":
        write_json(
            {
                "databases": [_database_json(one) for one in databases],
                "tables": [_table_json(one) for one in tables],
            }
        )
        return
    for one in databases:
        write(_database_text(one))
    cells = [(f"{one.source}.{one.label}", one.kind, *size_text(one)) for one in tables]
    write_pieces(f"{line}\n" for line in grid(("TABLE", "KIND", "ROWS", "COLUMNS"), cells))


def _database_text(one: DatabaseSummary) -> str:
    text = f"{one.name}: {counted(one.tables, 'table')}"
    if one.failure:
        text += f"; it does not answer: {one.failure}"
        text += f" (as seen at {one.seen_at})" if one.seen_at else ""
    return text + "".join(f"; {problem}" for problem in one.problems)


def _database_json(one: DatabaseSummary) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "tables": one.tables,
        "seen_at": one.seen_at,
        "failure": one.failure,
        "problems": list(one.problems),
    }


def _table_json(one: KeptTable) -> dict[str, object]:
    return {
        "database": one.source,
        "table": one.label,
        "kind": one.kind,
        "rows": one.rows,
        "columns": one.columns,
        "comment": one.comment,
    }
