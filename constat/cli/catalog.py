"""The tree of `constat catalog`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `catalog_NAME`.
"""

from __future__ import annotations

from typing import Final

import click

from constat.cli.lazy import LazyGroup

_COMMANDS: Final = (
    ("list", "List databases and tables."),
    ("show", "Show a table: columns, keys, relationships."),
    ("search", "Find tables, columns, predicates and rules by words."),
    ("sample", "Show values of a table, where the project allows it."),
    ("refresh", "Read again what the sources hold."),
    ("draft", "Draft declarations for tables."),
)


@click.group(name="catalog", cls=LazyGroup, listed=_COMMANDS, modules="constat.cli.catalog_")
def command() -> None:
    """Look at what the sources of a project hold.

    Tables are read once and kept in the state folder until they change: names, types, keys,
    comments and sizes, and never a value of a row.
    """
