"""`constat rules check PATH...`: whether rule files are right, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from constat.cli.helping import PlainGroup
from constat.cli.output import write, write_diagnostics, write_json
from constat.diagnostics import to_json
from constat.library import check_rules

if TYPE_CHECKING:
    from constat.library import Checked


@click.group(name="rules", cls=PlainGroup)
def command() -> None:
    """Check rule files."""


@command.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
def check(paths: tuple[str, ...], *, form: str) -> int:
    """Check rule files, and folders of them, as one program.

    Examples:
      constat rules check rules/customer-value
      constat rules check rules/customer-value examples/vip --format json

    Exit codes: 0 no errors, 2 errors, 78 all errors are constructs refused on purpose.
    """
    checked = check_rules([Path(path) for path in paths])
    if form == "json":
        write_json(_json(checked))
    else:
        write_diagnostics(checked.diagnostics, checked.texts)
        if not checked.errors:
            write(_summary(checked))
    return checked.exit_code


def _json(checked: Checked) -> dict[str, object]:
    return {
        "files": len(checked.files),
        "predicates": checked.predicates,
        "rules": checked.rules,
        "errors": len(checked.errors),
        "exit_code": checked.exit_code,
        "diagnostics": to_json(checked.diagnostics),
    }


def _summary(checked: Checked) -> str:
    files = _counted(len(checked.files), "file")
    declared = f"{_counted(checked.predicates, 'predicate')}, {_counted(checked.rules, 'rule')}"
    return f"{files}, {declared}: no errors"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
