"""What the commands that need a project share: the option, and how mistakes are shown.

In: a session and the texts that were typed. Out: diagnostics on stderr, with the lines they are
about, and the exit code. Invariant: `constat.yaml` is never quoted, because it may hold a password.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from constat.cli.output import counted, note, show_error
from constat.diagnostics import ConstatError, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.session import Session

project_option = click.option(
    "--project", metavar="DIR", help="The project; by default the one that this folder is in."
)


@contextmanager
def asked(
    session: Session, *, goal: str = "", fact: str = "", typed: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Show the mistakes found while a session answers, then leave with their exit code.

    `typed` are further texts of the command line, by the names that diagnostics use.
    """
    try:
        yield
    except ConstatError as problem:
        # The root's object tells whether JSON was asked for; see `entry`.
        as_json = bool(click.get_current_context().find_root().obj)
        texts = {**session.texts, "<goal>": goal, "<fact>": fact, **(typed or {})}
        show_error(problem, texts, as_json=as_json, models=session.model_usage)
        if not as_json:
            # What was asked in vain was paid for as well.
            _note_models(session)
        raise click.exceptions.Exit(problem.exit_code) from None
    _note_models(session)


def _note_models(session: Session) -> None:
    """Say what models have used, whose replies were replayed, and what went wrong besides."""
    for line in session.model_notes:
        note(line)
    if session.warnings:
        note(render(session.warnings, {}, colour=False).rstrip("\n"))


def note_warned(session: Session) -> None:
    """Say once that the rules have warnings, and how they are read."""
    found = session.rule_warnings
    if found:
        files = " ".join(shlex.quote(os.path.relpath(one)) for one in session.project.rules)
        note(f"{counted(len(found), 'warning')} in the rules: `constat rules check {files}`")
