"""The tree of commands: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module beside it.
"""

from __future__ import annotations

import importlib
from typing import Final

import click

from constat import __version__
from constat.cli.helping import PlainGroup

_COMMANDS: Final = (
    ("prove", "Prove or disprove a goal."),
    ("verify", "Check a certificate, independently of how it was made."),
    ("explain", "Explain a code such as C0203."),
    ("facts", "State facts, list them, take them back."),
    ("rules", "Check rule files."),
    ("export", "Write a certificate in a standard format."),
    ("completion", "Print the completion script of a shell."),
)


class LazyGroup(PlainGroup):
    """A group whose commands are loaded one at a time, when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's protocol
        """Name the commands."""
        return [name for name, _ in _COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in dict(_COMMANDS):
            return None
        module = importlib.import_module(f"constat.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(_COMMANDS)


@click.group(
    name="constat",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved, 5 disproved, "
    "6 disproved under assumptions, 2 bad usage, 1 rejected by verify.",
)
@click.version_option(__version__, message="constat %(version)s")
def cli() -> None:
    """Answer questions with proofs that an independent program can check.

    Example:
      constat prove "is_vip(C001)"
    """
