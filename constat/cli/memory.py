"""The tree of `constat memory`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `memory_NAME`.
"""

from __future__ import annotations

from typing import Final

import click

from constat.cli.lazy import LazyGroup

_COMMANDS: Final = (
    ("compact", "Compact logs of conversations to facts."),
    ("show", "Show what of a session is in sight."),
    ("why", "Prove why a fact is in sight, or is not."),
    ("open", "Print what was said at a place."),
    ("search", "Find what was said by words."),
    ("stats", "Count what is kept."),
    ("forget", "Forget texts; their digests stay."),
)


@click.group(name="memory", cls=LazyGroup, listed=_COMMANDS, modules="constat.cli.memory_")
def command() -> None:
    """Keep conversations with language models as facts, and show what of them still matters.

    Every message is kept word for word. Facts are found in it without a model, each with the bytes
    that say it; rules decide which of them belong into a context, and each decision has a proof.
    """
