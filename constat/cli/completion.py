"""`constat completion SHELL`: the script that makes a shell complete commands, options and goals.

The scripts only pass words on: what is offered is decided by `completing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from constat.cli.helping import PlainCommand
from constat.cli.output import write

_SCRIPTS: Final = Path(__file__).with_name("scripts")


@click.command(name="completion", cls=PlainCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell: bash 4.4, zsh 5 or fish 3.4 and newer.

    Completed are commands, options, their values, the predicates of the project in goals (with a
    variable for each column), rule ids, codes, databases and files. In bash a goal is best begun
    with a quote; without one it is put in quotes.

    Examples:
      constat completion bash > ~/.local/share/bash-completion/completions/constat
      constat completion zsh > ~/.zfunc/_constat
      constat completion fish > ~/.config/fish/completions/constat.fish
      eval "$(constat completion bash)"

    Exit codes: 0 printed, 2 bad usage.

    Files: ~/.zfunc stands for any folder of zsh's `fpath`.
    """
    write((_SCRIPTS / f"completion.{shell}").read_text(encoding="utf-8").rstrip("\n"))
