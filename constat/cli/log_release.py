"""`constat log release`: lift a hold."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.session import Session


@click.command(name="release", cls=PlainCommand)
@click.argument("entries", nargs=-1, required=True, type=click.IntRange(min=0), metavar="ENTRY...")
@click.option("--matter", required=True, metavar="NAME", help="What they were held for.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--by", metavar="NAME", help="Who lifts the hold; by default you.")
@project_option
def command(
    entries: tuple[int, ...], *, matter: str, reason: str, by: str | None, project: str | None
) -> None:
    """Lift the hold on decisions for a matter; holds for other matters stay.

    Examples:
      constat log release 2 --matter audit-2026 --by legal

    Exit codes: 0 lifted, 2 bad usage, or they are not held for this matter.
    """
    with Session(project) as session, asked(session):
        entry = session.decisions.release(entries, matter=matter, reason=reason, by=by)
    write(f"released from {matter}: {', '.join(map(str, entry.targets))} (entry {entry.sequence})")
