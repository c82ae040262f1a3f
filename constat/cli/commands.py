"""The tree of commands: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module beside it. The help
lists them by `_SECTIONS`; a command that no section names comes last.
"""

from __future__ import annotations

import importlib
from typing import Final

import click

from constat import __version__
from constat.cli.helping import PlainGroup

_COMMANDS: Final = (
    ("prove", "Prove or disprove a goal."),
    ("query", "Find all answers of a goal with variables."),
    ("verify", "Check a certificate, independently of how it was made."),
    ("stale", "List the certificates that would have to be proved again."),
    ("cache", "Look at the answers of sources that are kept, or clear them."),
    ("explain", "Explain a code such as C0203."),
    ("facts", "State facts, list them, take them back."),
    ("rules", "Check rule files."),
    ("export", "Write a certificate in a standard format."),
    ("help", "Explain exit codes, goals, JSON, files."),
    ("schema", "Print the JSON Schema of a command's results."),
    ("completion", "Print the completion script of a shell."),
)

_SECTIONS: Final = (
    ("Ask", ("prove", "query")),
    ("Check what was answered", ("verify", "stale", "export")),
    ("Facts and rules", ("facts", "rules", "cache")),
)


class LazyGroup(PlainGroup):
    """A group whose commands are loaded one at a time, when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's protocol
        """Name the commands."""
        return [name for name, _ in _COMMANDS]

    def summaries(self) -> tuple[tuple[str, str], ...]:
        """Give names and one-line helps, without loading a command."""
        return _COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in dict(_COMMANDS):
            return None
        module = importlib.import_module(f"constat.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        helps = dict(_COMMANDS)
        grouped = [name for _, names in _SECTIONS for name in names]
        others = tuple(name for name in helps if name not in grouped)
        width = max(map(len, helps))
        for title, names in (*_SECTIONS, ("More", others)):
            with formatter.section(title):
                listed = [(f"{name:<{width}}", helps[name]) for name in names if name in helps]
                formatter.write_dl(listed)


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
