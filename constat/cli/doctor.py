"""`constat doctor`: look at everything that a project needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.asking import project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import GREEN, RED, YELLOW, counted, write, write_heading, write_json
from constat.session.diagnosing import diagnose
from constat.session.diagnosing_values import ERROR, NOTE, OK, WARNING

if TYPE_CHECKING:
    from constat.session.diagnosing_values import Finding

_MARKS: Final = ((OK, "ok"), (NOTE, "note"), (WARNING, "WARNING"), (ERROR, "ERROR"))


@click.command(name="doctor", cls=PlainCommand)
@format_option
@project_option
def command(*, form: str, project: str | None) -> int:
    """Look at configuration, rules, databases, queries, state, keys, models and the sandbox.

    Each error and warning comes with an edit or a command that mends it. Nothing is changed, no
    query is run and no model is asked; of keys and passwords only whether they are set is told.

    Examples:
      constat doctor
      constat doctor --format json

    Exit codes: 0 no errors, 2 errors.
    """
    found = diagnose(None if project is None else Path(project))
    errors = sum(one.state == ERROR for one in found)
    warnings = sum(one.state == WARNING for one in found)
    if form == "json":
        write_json(
            {"findings": [_json(one) for one in found], "errors": errors, "warnings": warnings}
        )
        return 2 if errors else 0
    for one in found:
        _write(one)
    text = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    write_heading(text, RED if errors else YELLOW if warnings else GREEN)
    return 2 if errors else 0


def _write(one: Finding) -> None:
    code = f" [{one.code}]" if one.code else ""
    write(f"{dict(_MARKS)[one.state]:<8} {one.check}: {one.message}{code}")
    if one.help and one.state != OK:
        write(f"         help: {one.help}")


def _json(one: Finding) -> dict[str, object]:
    return {
        "check": one.check,
        "state": one.state,
        "message": one.message,
        "help": one.help,
        "code": one.code,
    }
