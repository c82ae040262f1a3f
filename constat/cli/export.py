"""`constat export CERT --to FORMAT`: a certificate in a standard format."""

from __future__ import annotations

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.export import to_graphml, to_prov_json


@click.command(name="export", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option(
    "--to", "form", type=click.Choice(("graphml", "prov-json")), required=True, help="The format."
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
def command(certificate: str, *, form: str, output: str | None) -> None:
    """Write the proof in CERT as a graph.

    The certificate is checked first; one that the checker rejects is not exported.

    Examples:
      constat export c001.json --to graphml -o c001.graphml
      constat export c001.json --to prov-json

    Exit codes: 0 written, 2 bad usage, or the certificate is rejected or cannot be read.
    """
    content = read_file(certificate, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    text = to_graphml(content) if form == "graphml" else to_prov_json(content)
    if output is None:
        write(text.rstrip("\n"))
    else:
        write_file(output, text.encode())
