"""The tree of `constat plan`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `plan_NAME`.
"""

from __future__ import annotations

from typing import Final

import click

from constat.cli.lazy import LazyGroup

_COMMANDS: Final = (
    ("show", "Show the plan of an exploration: rules, checklist, picture."),
    ("check", "Check a plan file without running it."),
    ("edit", "Put another plan in the place of an exploration's last."),
    ("approve", "Approve the plan of an exploration, before it runs."),
    ("promote", "Propose the rules of a plan for the project's library."),
)


@click.group(name="plan", cls=LazyGroup, listed=_COMMANDS, modules="constat.cli.plan_")
def command() -> None:
    """Show, check, edit, approve and promote the plans of explorations."""
