"""`constat log export`: the log for other programs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import replacing
from constat.cli.helping import PlainCommand
from constat.cli.log_text import record_json
from constat.cli.output import note, write_pieces
from constat.proof.render import defused
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.store.decision_log import Record


@click.command(name="export", cls=PlainCommand)
@click.option(
    "--to", "form", type=click.Choice(("jsonl", "csv")), required=True, help="The format."
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@project_option
def command(*, form: str, output: str | None, project: str | None) -> None:
    """Write the whole log: its lines as they are, or a table.

    The lines (jsonl) can be checked wherever they are; the table (csv) is for people, and defuses
    what a spreadsheet would take for a formula.

    Examples:
      constat log export --to jsonl -o decisions.jsonl
      constat log export --to csv

    Exit codes: 0 written, 2 bad usage, or the log cannot be read.
    """
    with Session(project) as session, asked(session):
        decisions = session.decisions
        pieces = (
            (line.decode(errors="backslashreplace") for line in decisions.store.content())
            if form == "jsonl"
            else _table(decisions.records())
        )
        if output is None:
            write_pieces(pieces)
            return
        with replacing(output) as stream:
            for piece in pieces:
                stream.write(piece.encode())
        note(f"log written to {output}")


def _table(records: Sequence[Record]) -> Iterator[str]:
    names: list[str] = []
    for record in records:
        members = record_json(record)
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        if not names:
            names = list(members)
            writer.writerow(names)
        writer.writerow([_cell(members[name]) for name in names])
        yield buffer.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return "" if value is None else defused(str(value))
