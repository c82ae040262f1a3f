"""Commands whose help is printed as it is written: examples keep their lines.

In: a docstring. Out: the same lines, indented. Example: `@click.command(cls=PlainCommand)`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click import Context, HelpFormatter


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How to print the result; `constat schema` describes the JSON.",
)


class PlainCommand(click.Command):
    """A command with plain help."""

    def format_help_text(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """Write the help."""
        write_plain(self.help, formatter)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Say where to read on."""
        super().format_epilog(ctx, formatter)
        formatter.write("\nMore: constat help exit-codes | environment | files | goals | json\n")


class PlainGroup(click.Group):
    """A group with plain help, whose commands have it too."""

    command_class = PlainCommand

    def format_help_text(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """Write the help."""
        write_plain(self.help, formatter)


def write_plain(text: str | None, formatter: HelpFormatter) -> None:
    """Write lines without wrapping them."""
    formatter.write("\n")
    for line in inspect.cleandoc(text or "").splitlines():
        formatter.write(f"  {line}\n" if line else "\n")
