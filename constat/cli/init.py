"""`constat init DATABASE`: begin a project whose first goal runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.session.starting import start

if TYPE_CHECKING:
    from constat.session.starting import Started


@click.command(name="init", cls=PlainCommand)
@click.argument("path", metavar="DATABASE")
@click.option("--directory", metavar="DIR", default=".", help="The project's folder; made if new.")
@click.option("--name", default="", help="The project's name; by default that of its folder.")
@click.option("--tables", metavar="A,B,...", help="Draft these tables, rather than all.")
@format_option
def command(path: str, *, directory: str, name: str, tables: str | None, form: str) -> None:
    """Begin a project with DATABASE: an address, a file, or a folder of files.

    Writes constat.yaml, sources.dl with a .decl and an .input for each table (30 at most; the most
    related ones come first), and rules/first.dl with a first rule; then proves a first goal, and
    says how. A password in the address is not written: an environment variable takes its place.
    No file is overwritten.

    Examples:
      constat init examples/vip/data/shop.sqlite --directory shop
      constat init sqlite:///examples/vip/data/shop.sqlite --directory shop2 --format json

    Exit codes: 0 begun, 2 bad usage, a project or file that is there already, or a database that
    cannot be read.
    """
    chosen = [part.strip() for part in (tables or "").split(",") if part.strip()]
    found = start(path, Path(directory), Path.cwd(), name=name, tables=chosen)
    if form == "json":
        write_json(_json(found))
    else:
        _write(found, directory)


def _write(found: Started, directory: str) -> None:
    for name in found.files:
        write(f"written: {Path(directory) / name}")
    text = f"{found.database}: {counted(len(found.tables), 'table')}"
    if found.left_out:
        text += f"; {found.left_out:,} more are left to `constat catalog draft`"
    write(text)
    for variable in found.variables:
        write(f"set {variable} to the password, as it stood in the address: it is in no file")
    place = "" if Path(directory) == Path() else f" --project {directory}"
    write(f"{found.result.verdict.label}: {found.goal}")
    write(f'next: constat prove "{found.goal}"{place}')


def _json(found: Started) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "files": list(found.files),
        "database": found.database,
        "tables": list(found.tables),
        "left_out": found.left_out,
        "predicates": list(found.predicates),
        "goal": found.goal,
        "verdict": found.result.verdict.value,
        "variables": list(found.variables),
    }
