"""`constat completion SHELL`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from constat.cli.helping import PlainCommand
from constat.cli.output import write


@click.command(name="completion", cls=PlainCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    Examples:
      constat completion bash > ~/.local/share/bash-completion/completions/constat
      constat completion fish > ~/.config/fish/completions/constat.fish
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise click.BadParameter("this shell is not supported", ctx=ctx)
    write(complete(ctx.find_root().command, {}, "constat", "_CONSTAT_COMPLETE").source().rstrip())
