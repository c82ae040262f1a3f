"""The tree of `constat rules`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `rules_NAME`.
"""

from __future__ import annotations

from typing import Final

import click

from constat.cli.lazy import LazyGroup

_COMMANDS: Final = (
    ("approve", "Let a draft in, or a rule that a model wrote."),
    ("check", "Check rule files, and whether stock Souffle could read them."),
    ("fmt", "Write rule files in the canonical layout."),
    ("import", "Read rules in pyDatalog's syntax."),
    ("list", "List rules and predicates."),
    ("reject", "Refuse a draft, or take back an approval."),
    ("review", "Show drafts, and what they would change."),
    ("test", "Run the cases of rule libraries."),
)


@click.group(name="rules", cls=LazyGroup, listed=_COMMANDS, modules="constat.cli.rules_")
def command() -> None:
    """Check, lay out, import, list and test rule files; decide about drafts."""
