"""`constat schema [COMMAND]`: the JSON Schema of what a command prints.

The names are those of commands, with dashes; `error` is the form of failures.
"""

from __future__ import annotations

import json

import click

from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.cli.schemas import json_schema, results
from constat.diagnostics import ConstatError, Diagnostic, nearest


def schema_names() -> list[str]:
    """Name the schemas."""
    return sorted(results())


@click.command(name="schema", cls=PlainCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
def command(words: tuple[str, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of what COMMAND prints with --format json.

    Without COMMAND the names are listed. `error` is what every command prints on stderr when it
    fails and JSON was asked for. Members are added in later versions and never change meaning.

    Examples:
      constat schema
      constat schema prove
      constat schema facts list
      constat schema error

    Exit codes: 0 printed, 2 there is no such schema.
    """
    names = schema_names()
    if not words:
        write("\n".join(names))
        return
    name = "-".join(words)
    if name not in names:
        near = nearest(name, names)
        raise ConstatError(
            [
                Diagnostic(
                    "C0435",
                    f"there is no schema `{name}`",
                    note="a command has one if it has `--format json`",
                    help=f"write `constat schema {near}`"
                    if near
                    else "`constat schema` lists them",
                )
            ]
        )
    write(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
