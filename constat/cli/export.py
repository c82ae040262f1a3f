"""`constat export CERT --to FORMAT`: a certificate in a standard format.

In: a certificate that the checker accepts. Out: the export, on stdout or in a file. Invariants:
what is rejected is not exported; a format that is no text never reaches a terminal.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.files import read_file, write_file
from constat.cli.groups import PlainCommand, format_option
from constat.cli.output import use_utf8, write, write_bytes, write_json, write_pieces
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.formats import FORMATS, Format, format_named, write_format

if TYPE_CHECKING:
    from constat.cli.output import Pipe


@click.command(name="export", cls=PlainCommand)
@click.argument("certificate", metavar="CERT", required=False)
@click.option(
    "--to",
    "target",
    metavar="FORMAT",
    type=click.Choice([one.name for one in FORMATS]),
    help="The format; --list names them.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
@click.option("--list", "listed", is_flag=True, help="List the formats.")
@format_option
def command(
    certificate: str | None, *, target: str | None, output: str | None, listed: bool, form: str
) -> None:
    """Write the proof in CERT in another format: as a report, a drawing, a table, provenance.

    The certificate is checked first; one that the checker rejects is not exported.

    Examples:
      constat export --list
      constat export --list --format json
      constat export c001.json --to csv
      constat export c001.json --to graphml -o c001.graphml
      constat export c001.json --to prov-json

    Exit codes: 0 written, 2 bad usage, the certificate is rejected or cannot be read, or the format
    has no word for something in it.
    """
    if listed:
        _list(as_json=form == "json")
        return
    if certificate is None:
        raise click.UsageError("Missing argument 'CERT'.")
    if target is None:
        raise click.UsageError("Missing option '--to'; `constat export --list` names the formats.")
    chosen = format_named(target)
    _check_target(chosen, output)
    content = write_format(chosen, _accepted(certificate))
    if output is not None:
        write_file(output, content, last=True)
    elif chosen.binary:
        write_bytes(partial(_fill, content))
    else:
        use_utf8()
        write_pieces([content.decode()])


def _fill(content: bytes, pipe: Pipe) -> None:
    pipe.write(content)


def _accepted(path: str) -> bytes:
    content = read_file(path, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    return content


def _check_target(chosen: Format, output: str | None) -> None:
    if chosen.binary and output is None and sys.stdout.isatty():
        diagnostic = Diagnostic(
            "C0773",
            f"`{chosen.name}` is not text, so it is not written to a terminal",
            help=f"add `--output proof{chosen.suffix}`",
        )
        raise ConstatError([diagnostic])


def _list(*, as_json: bool) -> None:
    if as_json:
        told = [
            {
                "name": one.name,
                "purpose": one.purpose,
                "suffix": one.suffix,
                "binary": one.binary,
                "extra": one.extra or None,
            }
            for one in FORMATS
        ]
        write_json({"formats": told})
        return
    width = max(len(one.name) for one in FORMATS)
    for one in FORMATS:
        extra = f" (needs the extra `{one.extra}`)" if one.extra else ""
        write(f"{one.name:<{width}}  {one.purpose}{extra}")
