"""`constat memory stats`: how much is kept of each session."""

from __future__ import annotations

import click

from constat.cli.asking import project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import remembered, store_option
from constat.cli.memory_text import statistics_json, statistics_text
from constat.cli.output import note, write, write_json
from constat.session import remembering


@click.command(name="stats", cls=PlainCommand)
@click.option("--session", metavar="NAME", help="Only this session.")
@store_option
@format_option
@project_option
def command(*, session: str | None, store: str | None, form: str, project: str | None) -> None:
    """Count messages, tokens and facts of the sessions that are kept.

    Examples:
      constat memory stats
      constat memory stats --session refund --format json

    Exit codes: 0 counted (also where nothing is kept), 2 bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        names = remembering.sessions(folder) if session is None else (session,)
        found = [remembering.statistics(folder, name) for name in names]
    if form == "json":
        write_json([statistics_json(one) for one in found])
        return
    for one in found:
        write(statistics_text(one))
    if not found:
        note("no session is kept; `constat memory compact LOG --session NAME` keeps one")
