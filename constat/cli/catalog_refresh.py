"""`constat catalog refresh [DATABASE]`: read again what the sources hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.catalog_text import note_trouble
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.catalog.schema import Refreshed


@click.command(name="refresh", cls=PlainCommand)
@click.argument("database", required=False)
@format_option
@project_option
def command(database: str | None, *, form: str, project: str | None) -> int:
    """Read the tables of DATABASE, or of all databases, whether they have changed or not.

    Changes are noticed without this, too; sizes and what a driver cannot watch are brought up to
    date by it.

    Examples:
      constat catalog refresh
      constat catalog refresh sales --format json

    Exit codes: 0 read, 2 bad usage or configuration, or a source did not answer.
    """
    with Session(project) as session, asked(session):
        found = session.catalog.refresh(database)
        note_trouble(session.catalog.trouble)
    if form == "json":
        write_json({"databases": [_json(one) for one in found]})
    for one in found if form == "text" else ():
        write(_text(one))
    return 2 if any(one.failure for one in found) else 0


def _text(one: Refreshed) -> str:
    if one.failure:
        return f"{one.name}: it does not answer: {one.failure}"
    state = "changed" if one.changed else "unchanged"
    text = f"{one.name}: {counted(one.tables, 'table')}, {state}"
    return text + "".join(f"; {problem}" for problem in one.problems)


def _json(one: Refreshed) -> dict[str, object]:
    return {
        "name": one.name,
        "tables": one.tables,
        "changed": one.changed,
        "failure": one.failure,
        "problems": list(one.problems),
    }
