"""`constat rules check PATH...`: whether rule files are right, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_diagnostics, write_json
from constat.diagnostics import to_json
from constat.library import check_rules

if TYPE_CHECKING:
    from constat.library import Checked


@click.command(name="check", cls=PlainCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--portable", is_flag=True, help="Also say what stock Souffle 2.5 would make of the rules."
)
@format_option
def command(paths: tuple[str, ...], *, portable: bool, form: str) -> int:
    """Check rule files, and folders of them, as one program.

    The cases of libraries are left out: `constat rules test` runs them. With --portable every
    construct is named that stock Souffle 2.5 would not load, or would answer differently, with what
    to write instead; these are warnings, and they make the exit code 1. So does a sentence of
    `@[says]` that leaves out a column, or a value that its rule compares.

    Examples:
      constat rules check rules/customer-value
      constat rules check rules/customer-value examples/vip --format json
      constat rules check --portable rules/customer-value  # exits with 1

    Exit codes: 0 no errors, 1 a sentence leaves out a value, or not portable (with --portable),
    2 errors, 78 all errors are constructs refused on purpose.
    """
    checked = check_rules([Path(path) for path in paths], portable=portable)
    if form == "json":
        write_json(_json(checked))
    else:
        every = (*checked.diagnostics, *checked.incomplete, *(checked.portability or ()))
        write_diagnostics(every, checked.texts)
        if not checked.errors:
            write(_summary(checked))
    return checked.exit_code


def _json(checked: Checked) -> dict[str, object]:
    told: dict[str, object] = {
        "files": len(checked.files),
        "predicates": checked.predicates,
        "rules": checked.rules,
        "errors": len(checked.errors),
        "exit_code": checked.exit_code,
        "diagnostics": to_json(checked.diagnostics),
        "incomplete": to_json(checked.incomplete),
    }
    if checked.portability is not None:
        told["portable"] = not checked.portability
        told["portability"] = to_json(checked.portability)
    return told


def _summary(checked: Checked) -> str:
    files = counted(len(checked.files), "file")
    declared = f"{counted(checked.predicates, 'predicate')}, {counted(checked.rules, 'rule')}"
    summary = f"{files}, {declared}: no errors"
    if checked.incomplete:
        left_out = counted(len(checked.incomplete), "sentence")
        summary += (
            f"; {left_out} {'leaves' if len(checked.incomplete) == 1 else 'leave'} out values"
        )
    if checked.portability is None:
        return summary
    found = counted(len(checked.portability), "construct")
    return f"{summary}; " + (f"{found} not portable" if checked.portability else "portable")
