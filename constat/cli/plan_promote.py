"""`constat plan promote [ID]`: propose the rules of a plan for the library, in quarantine."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.session import Session


@click.command(name="promote", cls=PlainCommand)
@click.argument("exploration", required=False, default="", metavar="[ID]")
@click.option("--step", "steps", multiple=True, metavar="NAME", help="Only these steps.")
@click.option("--by", default="", metavar="NAME", help="Who proposes it, for the record.")
@project_option
def command(exploration: str, *, steps: tuple[str, ...], by: str, project: str | None) -> int:
    """Propose the rules of the latest exploration, or of ID, for the project's library.

    They become a draft in quarantine; `constat rules review` shows it, `constat rules approve` puts
    it into a library. Only steps by rules can be promoted, with what they need.

    Examples:
      constat plan promote --step customer_size

    Exit codes: 0 proposed, 2 what was named is not by rules, bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        draft = session.plans.promote(exploration, steps, by=by)
    write(f"proposed as draft {draft.short}; `constat rules review {draft.short}` shows it")
    return 0
