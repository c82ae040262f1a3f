"""`constat log expire`: remove what is over its time and not held."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.session import Session


@click.command(name="expire", cls=PlainCommand)
@click.option("--by", metavar="NAME", help="Who removes them; by default you.")
@format_option
@project_option
def command(*, by: str | None, form: str, project: str | None) -> None:
    """Remove the content and certificates of decisions whose class of retention has run out.

    What is held stays, and so does the head of each entry with the hash of what it was, so that
    the chain can still be checked. An entry says what was removed, when and by whom.

    Examples:
      constat log expire
      constat log expire --by archive --format json

    Exit codes: 0 done (also where nothing was due), 2 bad usage, or the log is damaged.
    """
    with Session(project) as session, asked(session):
        expiry = session.decisions.expire(by=by)
    if form == "json":
        write_json({"expired": list(expiry.expired), "held": list(expiry.held)})
        return
    held = f"; {len(expiry.held):,} over their time are held" if expiry.held else ""
    write(f"expired: {counted(len(expiry.expired), 'decision')}{held}")
