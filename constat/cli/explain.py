"""`constat explain CODE`: what a code means, with a wrong and a right example."""

from __future__ import annotations

from dataclasses import asdict

import click

from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.diagnostics.catalogue import Entry, catalogue


@click.command(name="explain", cls=PlainCommand)
@click.argument("code")
@format_option
def command(code: str, *, form: str) -> None:
    """Explain CODE, as it stands in an error message, with a wrong and a right example.

    Examples:
      constat explain C0203
      constat explain C0407 --format json

    Exit codes: 0 explained, 2 there is no such code.
    """
    entries = catalogue()
    entry = entries.get(code.upper())
    if entry is None:
        near = nearest(code.upper(), sorted(entries))
        hint = f"`constat explain {near}` is the nearest one" if near else ""
        raise ConstatError([Diagnostic("C0404", f"there is no code `{code}`", help=hint)])
    if form == "json":
        write_json(asdict(entry))
    else:
        write(_text(entry))


def _text(entry: Entry) -> str:
    parts = [f"{entry.code}: {entry.title}", entry.explanation.strip()]
    if entry.rules_for_goal:
        parts.append("With the rules\n\n" + _indented(entry.rules_for_goal))
    if entry.wrong:
        parts.append("Wrong:\n\n" + _indented(entry.wrong))
    if entry.right:
        parts.append("Right:\n\n" + _indented(entry.right))
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())
