"""What the commands that need a project share: the option, and how mistakes are shown.

In: a session and the texts that were typed. Out: diagnostics on stderr, with the lines they are
about, and the exit code. Invariant: `constat.yaml` is never quoted, because it may hold a password.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from constat.cli.output import show_error
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session import Session

project_option = click.option(
    "--project", metavar="DIR", help="The project; by default the one that this folder is in."
)


@contextmanager
def asked(session: Session, *, goal: str = "", fact: str = "") -> Iterator[None]:
    """Show the mistakes found while a session answers, then leave with their exit code."""
    try:
        yield
    except ConstatError as problem:
        show_error(problem, {**session.texts, "<goal>": goal, "<fact>": fact})
        raise click.exceptions.Exit(problem.exit_code) from None
