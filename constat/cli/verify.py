"""`constat verify FILE`: the independent checker, and on demand the sources."""

from __future__ import annotations

import importlib
import json

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.asking import project_option
from constat.cli.files import read_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json


@click.command(name="verify", cls=PlainCommand)
@click.argument("file")
@format_option
@click.option("--pin", metavar="sha256:...", help="The hash of the rules that are trusted.")
@click.option("--source", is_flag=True, help="Read the leaves again from the project's sources.")
@project_option
def command(file: str, *, form: str, pin: str | None, source: bool, project: str | None) -> int:
    """Check the certificate in FILE, or on stdin for `-`.

    The checker shares no code with the engine and trusts nothing that the file says about itself.
    Whether the rows are those of the database is a second question; --source asks it.

    Examples:
      constat verify c001.json
      constat verify c001.json --source
      constat verify c001.json --format json

    Exit codes: that of the verdict (0, 3, 4, 5, 6); 1 where the certificate is rejected,
    or where --source finds a leaf that is not as shown.
    """
    certificate = read_file(file, MAX_BYTES)
    if source:
        # The checker alone starts faster than the engine, which only this needs.
        again = importlib.import_module("constat.cli.leaves")
        code: int = again.verify_leaves(certificate, form=form, pin=pin, project=project)
        return code
    report = check_certificate(certificate, pin=pin)
    write(report.to_text().rstrip("\n")) if form == "text" else write_json(
        json.loads(report.to_json())
    )
    return report.exit_code
