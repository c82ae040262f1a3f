"""The tree of `constat rules`: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module `rules_NAME`.
"""

from __future__ import annotations

import importlib
from typing import Final

import click

from constat.cli.helping import PlainGroup

_COMMANDS: Final = (
    ("check", "Check rule files, and whether stock Souffle could read them."),
    ("fmt", "Write rule files in the canonical layout."),
    ("import", "Read rules in pyDatalog's syntax."),
    ("list", "List rules and predicates."),
    ("test", "Run the cases of rule libraries."),
)


class RulesGroup(PlainGroup):
    """The commands about rules, loaded one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's protocol
        """Name the commands."""
        return [name for name, _ in _COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in dict(_COMMANDS):
            return None
        module = importlib.import_module(f"constat.cli.rules_{cmd_name}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(_COMMANDS)


@click.group(name="rules", cls=RulesGroup)
def command() -> None:
    """Check, lay out, import, list and test rule files."""
