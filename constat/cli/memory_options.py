"""What the commands of `constat memory` share: options, and how their mistakes are shown.

In: nothing. Out: decorators. Invariant: a mistake is told as everywhere, with its exit code.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from constat.cli.output import show_error
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES: Final = ("reconciled", "seed001", "seed002", "seed003", "seed004")

session_option = click.option(
    "--session", metavar="NAME", required=True, help="The session, as `compact` has named it."
)
store_option = click.option(
    "--store", metavar="DIR", help="Where sessions are kept; by default in the project's state."
)
rules_option = click.option(
    "--rules", metavar="DIR", help="Rules that take the place of those of memory, file by file."
)
goal_option = click.option(
    "--goal", default="", metavar="TEXT", help="What is to be done next; what it names comes first."
)
budget_option = click.option(
    "--budget", type=click.IntRange(min=1), metavar="TOKENS", help="At most so many tokens."
)


@contextmanager
def remembered() -> Iterator[None]:
    """Show the mistakes that are found, then leave with their exit code."""
    try:
        yield
    except ConstatError as problem:
        as_json = bool(click.get_current_context().find_root().obj)
        show_error(problem, as_json=as_json)
        raise click.exceptions.Exit(problem.exit_code) from None
