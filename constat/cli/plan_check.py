"""`constat plan check FILE`: compile a plan over the project, and run nothing."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand
from constat.cli.output import note
from constat.cli.plan_show import FORMS, shown
from constat.cli.solve_options import plan_file
from constat.diagnostics import render
from constat.session import Session


@click.command(name="check", cls=PlainCommand)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="How to show it.",
)
@project_option
def command(file: str, *, form: str, project: str | None) -> int:
    """Check the plan in FILE: relations, columns, types, rules, SELECTs, and the order of steps.

    Examples:
      constat plan check examples/vip/plans/top5.yaml
      constat plan check examples/vip/plans/top5.yaml --format json

    Exit codes: 0 it can be run, 2 it cannot, or bad usage or configuration.
    """
    written = plan_file(file)
    with Session(project) as session, asked(session, typed=written.typed):
        plan = written.plan()
        chain = session.plans.check(plan)
    shown(plan, chain, form, done=False)
    if chain.warnings:
        note(render(chain.warnings, {}, colour=False).rstrip("\n"))
    return 0
