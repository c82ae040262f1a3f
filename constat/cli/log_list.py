"""`constat log list`: the decisions that were written down."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.log_text import record_json, record_line
from constat.cli.output import note, write, write_json
from constat.session import Session


@click.command(name="list", cls=PlainCommand)
@click.option("--goal", metavar="TEXT", help="Only decisions whose goal begins so.")
@click.option("--current", is_flag=True, help="Only decisions that no other supersedes.")
@click.option("--all", "every", is_flag=True, help="Also holds, releases, expiries, snapshots.")
@format_option
@project_option
def command(
    goal: str | None, *, current: bool, every: bool, form: str, project: str | None
) -> None:
    """List the decisions in the log, in the order in which they were made.

    Examples:
      constat log list
      constat log list --goal "is_vip(" --current
      constat log list --all --format json

    Exit codes: 0 listed (also where there is none), 2 bad usage, or the log is damaged.
    """
    with Session(project) as session, asked(session):
        records = session.decisions.records()
    found = [
        one
        for one in records
        if (every or one.entry.kind == "decision")
        and (goal is None or str((one.entry.body or {}).get("goal", "")).startswith(goal))
        and not (current and one.superseded_by is not None)
    ]
    if form == "json":
        write_json([record_json(one) for one in found])
        return
    for one in found:
        write(record_line(one))
    if not found:
        note("no decisions are written down; `constat prove GOAL --log` writes one")
