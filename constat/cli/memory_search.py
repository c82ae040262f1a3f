"""`constat memory search WORDS`: find what was said."""

from __future__ import annotations

import click

from constat.cli.asking import project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import remembered, session_option, store_option
from constat.cli.memory_text import found_json, found_text
from constat.cli.output import note, write, write_json
from constat.session import remembering


@click.command(name="search", cls=PlainCommand)
@click.argument("words", nargs=-1, required=True)
@session_option
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=10,
    show_default=True,
    help="At most so many texts.",
)
@store_option
@format_option
@project_option
def command(
    words: tuple[str, ...],
    *,
    session: str,
    limit: int,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Find the texts of a session that fit WORDS best; other forms of a word fit too.

    Examples:
      constat memory search "gift card" --session refund
      constat memory search refund order --session refund --limit 3 --format json

    Exit codes: 0 searched (also where nothing is found), 2 bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        found = memory.search(" ".join(words), limit)
    if form == "json":
        write_json([found_json(one) for one in found])
        return
    for one in found:
        write(found_text(one))
    if not found:
        note("nothing was found")
