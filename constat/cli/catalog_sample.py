"""`constat catalog sample TABLE [COLUMN...]`: values, where the project allows them."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.session import Session


@click.command(name="sample", cls=PlainCommand)
@click.argument("table")
@click.argument("columns", nargs=-1, metavar="[COLUMN...]")
@click.option(
    "--most", type=click.IntRange(1, 50), default=5, show_default=True, help="How many of each."
)
@click.option("--allow", is_flag=True, help="Show them although constat.yaml does not say so.")
@format_option
@project_option
def command(
    table: str,
    columns: tuple[str, ...],
    *,
    most: int,
    allow: bool,
    form: str,
    project: str | None,
) -> None:
    """Show the most frequent values of COLUMN... (or of all columns) among the first rows.

    Values are shown, and given to a language model, only where `catalog: {samples: [...]}` in
    constat.yaml names the database, `database.table` or `database.table.column`. --allow is your
    own word for this one time. Values are kept nowhere.

    Examples:
      constat catalog sample accounts tier --allow
      constat catalog sample sales.accounts tier --allow --most 3 --format json

    Exit codes: 0 shown, 2 bad usage or configuration, not allowed, or the source does not answer.
    """
    with Session(project) as session, asked(session):
        found = session.catalog.sample(table, columns, most=most, allowed=allow)
    if form == "json":
        write_json(
            {
                "columns": [
                    {
                        "column": one.column,
                        "values": [{"value": text, "count": times} for text, times in one.values],
                        "cut": one.cut,
                    }
                    for one in found
                ]
            }
        )
        return
    for one in found:
        write(f"{one.column}:" + ("" if one.values else " no values"))
        for text, times in one.values:
            write(f"  {times:>6,}  {text!r}")
        if one.cut:
            write("          ...")
