"""`constat memory compact LOG...`: what a conversation comes to within a budget."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.memory_options import (
    PROFILES,
    budget_option,
    goal_option,
    remembered,
    rules_option,
    store_option,
)
from constat.cli.memory_text import compaction_json, compaction_text
from constat.cli.output import note, write, write_json
from constat.diagnostics import ConstatError, Diagnostic
from constat.model import ModelError, Task
from constat.session import Session, remembering

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.model import Client


@click.command(name="compact", cls=PlainCommand)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@budget_option
@goal_option
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="Whose thresholds decide where there is no budget.",
)
@click.option("--model", default="", metavar="NAME", help="The model whose window counts.")
@click.option(
    "--log-format",
    type=click.Choice(("anthropic", "openai")),
    help="The format of the logs; by default it is found out.",
)
@click.option("--session", metavar="NAME", help="Keep the messages as this session.")
@store_option
@rules_option
@click.option("--with-model", is_flag=True, help="Let the project's model look for more facts.")
@click.option("-o", "--output", metavar="FILE", help="Write the compacted messages.")
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    logs: tuple[str, ...],
    *,
    budget: int | None,
    goal: str,
    profile: str,
    model: str,
    log_format: str | None,
    session: str | None,
    store: str | None,
    rules: str | None,
    with_model: bool,
    output: str | None,
    form: str,
    project: str | None,
) -> None:
    """Read LOGs, one after the other, and say what they come to.

    A LOG is JSON or JSON Lines with messages of Anthropic or OpenAI; `-` is stdin. No model is
    asked, unless --with-model says so; then only facts count whose every value stands in a sentence
    of the text that they cite. With --session the messages are kept, so that `show`, `why` and
    `open` find them; the log of a session that has gone on since is read from where it is known to.

    Examples:
      constat memory compact examples/memory/refund.json --budget 700
      constat memory compact examples/memory/refund.json --budget 700 --session refund -o short.json
      constat memory compact examples/memory/refund.json --goal "order O-7" --format json

    Exit codes: 0 compacted (or small enough as it is), 2 no log, bad usage or configuration, or
    what is always in sight does not fit.
    """
    with remembered(), _client(project, wanted=with_model) as client:
        own = _own_rules(project, store, session, rules)
        wish = remembering.Wish(budget, profile, goal, model, own)
        folder = None if session is None else remembering.store_of(project, store)
        found = remembering.compacted(
            [(name, read_file(name, remembering.MOST_BYTES)) for name in logs],
            wish,
            folder=folder,
            session=session or "main",
            form=log_format or "",
            client=client,
        )
        if output is not None:
            _write(output, found, folder)
    if form == "json":
        write_json(compaction_json(found))
    else:
        write(compaction_text(found))


def _own_rules(
    project: str | None, store: str | None, session: str | None, rules: str | None
) -> Path | None:
    """Give the folder of own rules; a log that nobody keeps needs no project."""
    kept_there = store is None and (session is not None or project is not None)
    return remembering.rules_of(project, rules, wanted=kept_there)


@contextmanager
def _client(project: str | None, *, wanted: bool) -> Iterator[Client | None]:
    """Give the client for extraction, if it is wanted."""
    if not wanted:
        yield None
        return
    with Session(project) as session, asked(session):
        try:
            client = session.models.client(Task.EXTRACT)
        except ModelError as problem:
            raise ConstatError([Diagnostic(problem.code, str(problem))]) from problem
        yield client


def _write(output: str, found: remembering.Compaction, folder: Path | None) -> None:
    write_file(output, remembering.written(found, folder))
    note(f"compacted messages written to {output}")
