"""`constat verify FILE --source`: the checker's report and what became of the leaves.

In: the bytes of a certificate and a project. Out: a report on stdout and an exit code: the
verdict's own, or 1 where a leaf is not as shown. Example: a changed threshold is listed as `gone`.
"""

from __future__ import annotations

from constat.cli.asking import asked
from constat.cli.output import write, write_json
from constat.session import Session


def verify_leaves(certificate: bytes, *, form: str, pin: str | None, project: str | None) -> int:
    """Print the report; give its exit code."""
    with Session(project) as session, asked(session):
        report = session.verify_source(certificate, pin=pin)
    if form == "json":
        write_json(report.to_json())
    else:
        write(report.to_text().rstrip("\n"))
    return report.exit_code
