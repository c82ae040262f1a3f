"""`constat plan edit FILE`: another plan for the last question of an exploration."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.cli.solve_options import plan_file
from constat.session import Session


@click.command(name="edit", cls=PlainCommand)
@click.argument("file", metavar="FILE")
@click.option(
    "--in", "exploration", default="", metavar="ID", help="The exploration; else the latest."
)
@project_option
def command(file: str, *, exploration: str, project: str | None) -> int:
    """Put the plan in FILE in the place of that of an exploration's last question.

    `constat plan show --format yaml` prints the plan to edit. Earlier versions are kept;
    `constat resume` runs the new one, and only the steps that are not as they were.

    Examples:
      constat plan edit examples/vip/plans/top5.yaml

    Exit codes: 0 kept, 2 the plan cannot be run, there is no such exploration, bad usage.
    """
    written = plan_file(file)
    with Session(project) as session, asked(session, typed=written.typed):
        found = session.plans.edit(written.plan(), exploration)
    write(f"the plan of exploration {found.identity} is another one now; `constat resume` runs it")
    return 0
