"""`constat log hold`: keep decisions from expiring, for a matter."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.session import Session


@click.command(name="hold", cls=PlainCommand)
@click.argument("entries", nargs=-1, required=True, type=click.IntRange(min=0), metavar="ENTRY...")
@click.option("--matter", required=True, metavar="NAME", help="What they are held for.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--by", metavar="NAME", help="Who holds them; by default you.")
@project_option
def command(
    entries: tuple[int, ...], *, matter: str, reason: str, by: str | None, project: str | None
) -> None:
    """Keep decisions from expiring until each hold on them is lifted, whatever their class says.

    Examples:
      constat log hold 1 --matter "Smith v. Shop" --by legal

    Exit codes: 0 held, 2 bad usage, no such decision, or it is held for this matter already.
    """
    with Session(project) as session, asked(session):
        entry = session.decisions.hold(entries, matter=matter, reason=reason, by=by)
    write(f"held for {matter}: {', '.join(map(str, entry.targets))} (entry {entry.sequence})")
