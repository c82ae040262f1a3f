"""`constat log show ENTRY`: one entry, or the certificate that was written down with it."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.log_text import record_json, record_line
from constat.cli.output import note, write, write_json
from constat.session import Session


@click.command(name="show", cls=PlainCommand)
@click.argument("entry")
@click.option("--certificate", metavar="FILE", help="Write the decision's certificate to FILE.")
@format_option
@project_option
def command(entry: str, *, certificate: str | None, form: str, project: str | None) -> None:
    """Show ENTRY, a number or (the beginning of) the identity of a proof.

    Examples:
      constat log show 1
      constat log show 1 --certificate first.json
      constat log show 1 --format json

    Exit codes: 0 shown, 2 bad usage, or there is no such entry.
    """
    with Session(project) as session, asked(session):
        record = session.decisions.find(entry)
        if form == "json":
            write_json(record_json(record))
        else:
            write(record_line(record))
            for name, value in record_json(record).items():
                if value not in (None, [], False, ""):
                    write(f"  {name}: {value}")
        if certificate is not None:
            write_file(certificate, session.decisions.certificate(record))
            note(f"certificate written to {certificate}")
