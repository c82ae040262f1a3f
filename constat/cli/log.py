"""The tree of `constat log`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `log_NAME`.
"""

from __future__ import annotations

from typing import Final

import click

from constat.cli.lazy import LazyGroup

_COMMANDS: Final = (
    ("list", "List the decisions that were written down."),
    ("show", "Show one entry, or its certificate."),
    ("verify", "Check the log from end to end."),
    ("anchor", "Sign the head of the log, to keep it elsewhere."),
    ("hold", "Keep decisions from expiring."),
    ("release", "Lift a hold."),
    ("expire", "Remove what is over its time and not held."),
    ("export", "Write the log for other programs."),
)


@click.group(name="log", cls=LazyGroup, listed=_COMMANDS, modules="constat.cli.log_")
def command() -> None:
    """Look after the log of decisions.

    `log: true` in constat.yaml writes each decision of `constat prove` down, `constat prove
    --log` a single one. An entry is never changed; the entry after it holds its hash.
    """
