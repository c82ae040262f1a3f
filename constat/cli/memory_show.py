"""`constat memory show`: the facts of a session that a context would show."""

from __future__ import annotations

import click

from constat.cli.asking import project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import (
    goal_option,
    remembered,
    rules_option,
    session_option,
    store_option,
)
from constat.cli.memory_text import lines_json
from constat.cli.output import counted, note, write, write_json
from constat.session import remembering


@click.command(name="show", cls=PlainCommand)
@session_option
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    metavar="TOKENS",
    help="At most so many tokens.",
)
@goal_option
@store_option
@rules_option
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    *,
    session: str,
    budget: int,
    goal: str,
    store: str | None,
    rules: str | None,
    form: str,
    project: str | None,
) -> None:
    """Show the facts of a session that matter most, each with the bytes that say it.

    Examples:
      constat memory show --session refund
      constat memory show --session refund --budget 500 --goal "order O-7" --format json

    Exit codes: 0 shown, 2 bad usage or configuration, or what is always in sight does not fit.
    """
    with remembered(), remembering.opened_by(project, store, session, rules) as memory:
        view = memory.view(budget, goal)
    if form == "json":
        write_json(
            {
                "session": session,
                "tokens": view.tokens,
                "passed_over": view.passed_over,
                "lines": lines_json(view.lines),
            }
        )
        return
    for line in view.lines:
        write(line.text)
    note(f"{view.tokens:,} tokens; {counted(view.passed_over, 'fact')} did not fit")
