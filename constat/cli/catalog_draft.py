"""`constat catalog draft TABLE...`: declarations by which rules can speak of tables."""

from __future__ import annotations

import os

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session


@click.command(name="draft", cls=PlainCommand)
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--columns", metavar="A,B,...", help="Only these columns; for one table.")
@click.option("--output", metavar="FILE", help="Write the file, which must not exist.")
@format_option
@project_option
def command(
    tables: tuple[str, ...],
    *,
    columns: str | None,
    output: str | None,
    form: str,
    project: str | None,
) -> None:
    """Draft a rule file with a .decl and an .input for each TABLE, all of one database.

    Rows are looked at: kinds are those of the stored values, a key is named where it is one,
    columns that may be NULL get `@[null = maybe]`: a value or none. What is declared and not so is
    said in a comment, and what could not be read is left out. No value is shown. `constat rules
    check` accepts the file as it is; add it to `rules:` in constat.yaml.

    Examples:
      constat catalog draft orders customers
      constat catalog draft sales.orders --columns id,amount --output orders.dl
      constat catalog draft accounts --format json

    Exit codes: 0 drafted, 2 bad usage or configuration, or the source does not answer.
    """
    chosen = [part.strip() for part in (columns or "").split(",") if part.strip()]
    with Session(project) as session, asked(session):
        found = session.draft_tables(tables, chosen)
        if output is not None:
            _write_new(output, found.text)
    if form == "json":
        findings = [
            one.message for predicate in found.predicates for one in predicate.checked.findings
        ]
        write_json(
            {
                "database": found.database,
                "predicates": list(found.signatures),
                "findings": findings,
                "text": found.text,
                "output": output,
            }
        )
    elif output is None:
        write(found.text.rstrip("\n"))
    else:
        for one in found.signatures:
            write(f"drafted: {one}")
        write(f"written to {output}; name it in `rules:` of constat.yaml")


def _write_new(output: str, text: str) -> None:
    """Write a file that is not there: a draft that somebody has worked on is not overwritten."""
    if os.path.lexists(output):
        message = f"`{output}` exists already"
        hint = "name another file, or move it away"
        raise ConstatError([Diagnostic("C0845", message, help=hint)])
    write_file(output, text.encode())
