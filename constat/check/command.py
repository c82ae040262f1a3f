"""The command line of the checker.

In: arguments.  Out: the report on standard output and an exit code: that of the verdict, 1 for what
is rejected, 2 for a wrong call or a file that cannot be read.  Invariant: needs nothing but the
standard library and this folder.

Example: ``python -m constat.check --pin sha256:... proof.json``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from .canonical import MAX_BYTES
from .checking import check_certificate
from .population import INDEX, PopulationError, check_population
from .printing import printable

USAGE_ERROR: Final = 2


def main(arguments: list[str] | None = None) -> int:
    """Check the file that the arguments name; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="check", description="Check a certificate of Constat, independently of Constat."
    )
    parser.add_argument(
        "file", metavar="FILE", help="the certificate, or a folder about a population"
    )
    parser.add_argument("--json", action="store_true", help="write the report as JSON")
    parser.add_argument("--pin", metavar="sha256:...", help="the hash that the rules must have")
    parser.add_argument(
        "--trust",
        metavar="sha256:...",
        action="append",
        default=[],
        help="with --pin: the hash of rules that nested certificates may have",
    )
    parser.add_argument(
        "--documents",
        metavar="FOLDER",
        type=Path,
        help="the folder whose documents are quoted: hashes and words are compared",
    )
    chosen = parser.parse_args(arguments)
    try:
        if (Path(chosen.file) / INDEX).is_file():
            return _check_folder(Path(chosen.file), chosen.pin)
        with Path(chosen.file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no file name"
        sys.stderr.write(f"check: cannot read the file: {reason}\n")
        return USAGE_ERROR
    report = check_certificate(
        data, pin=chosen.pin, trusted=chosen.trust, documents=chosen.documents
    )
    text = report.to_json() + "\n" if chosen.json else report.to_text()
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    return report.exit_code


def _check_folder(folder: Path, pin: str | None) -> int:
    """Check a folder about everybody; return the exit code."""
    try:
        found = check_population(folder, pin)
    except PopulationError as problem:
        sys.stdout.write(f"REJECTED: {problem}\n")
        return 1
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items())
    sys.stdout.write(f"ACCEPTED: {printable(found.goal)}: {counts}\nrules: {found.rules}\n")
    return 0
