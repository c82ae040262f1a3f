"""`constat log anchor`: sign the head of the log, to keep it elsewhere."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand
from constat.cli.output import note, write
from constat.cli.signing_keys import private_key
from constat.session import Session
from constat.session.signing_heads import sign_head


@click.command(name="anchor", cls=PlainCommand)
@click.option("--key", metavar="FILE", required=True, help="The private key.")
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@project_option
def command(key: str, *, output: str | None, project: str | None) -> None:
    """Check the log, then sign the number, the hash and the time of its last entry.

    A hash chain cannot show that its end is missing. The signed head can, kept where the keeper of
    the log cannot change it: with an auditor, in another system, on paper.

    Examples:
      constat log anchor --key key.pem -o head.dsse
      constat log anchor --key key.pem

    Exit codes: 0 signed, 2 bad usage, there is no log, or it is damaged.
    """
    owner = private_key(key)
    with Session(project) as session, asked(session):
        report = session.decisions.check()
        line = sign_head(report, owner)
    if output is None:
        write(line.decode().rstrip("\n"))
        return
    write_file(output, line)
    note(f"entry {report.entries - 1} anchored in {output}")
