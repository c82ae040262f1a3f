"""`constat openings CERT`: show the rows of a certificate in signed snapshots."""

from __future__ import annotations

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.asking import asked, project_option
from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand
from constat.cli.output import note
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.signing.trust import MOST_FILE_BYTES
from constat.session import Session


@click.command(name="openings", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option(
    "--snapshot",
    "snapshots",
    metavar="FILE",
    multiple=True,
    required=True,
    help="A signed snapshot of a predicate.",
)
@click.option(
    "--inside",
    is_flag=True,
    help="Write the certificate again with the openings in it (at most 64 kB of them).",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the openings go.")
@project_option
def command(
    certificate: str,
    *,
    snapshots: tuple[str, ...],
    inside: bool,
    output: str,
    project: str | None,
) -> None:
    """Write the rows that CERT shows, each with its neighbours and its path to a signed root.

    The source is read again and must still have the rows of the snapshot. What is written shows
    rows of the source: those of the certificate, and one beside each key. With --inside it is
    another certificate of the same conclusion, at level C2 where every key was opened; `verify`
    checks it, and with --snapshot also whose roots they are.

    Examples:
      constat openings c001.json --snapshot orders.dsse -o c001.openings
      constat openings c001.json --snapshot orders.dsse --inside -o c001.opened.json

    Exit codes: 0 written, 2 bad usage, or the source has changed since the snapshot.
    """
    content = read_file(certificate, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    signed = [(read_file(path, MOST_FILE_BYTES), path) for path in snapshots]
    with Session(project, cache=False) as session, asked(session):
        write_file(output, session.openings(content, signed, inside=inside))
    note(f"{'certificate' if inside else 'openings'} written to {output}")
