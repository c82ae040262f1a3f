"""`constat rules import FILE.py`: rules in pyDatalog's syntax as rules of this language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_diagnostics, write_json
from constat.diagnostics import ConstatError, Diagnostic, to_json
from constat.library.pydatalog_rules import WRITTEN, import_rules
from constat.syntax.loading import MAX_FILE

if TYPE_CHECKING:
    from constat.library.pydatalog_rules import Imported


@click.command(name="import", cls=PlainCommand)
@click.argument("file", metavar="FILE.py")
@click.option("--output", "-o", metavar="FILE.dl", help="Write the rules there, not to stdout.")
@format_option
def command(file: str, *, output: str | None, form: str) -> int:
    """Read a file in pyDatalog's syntax and write its facts and rules in this language.

    The file is parsed and never run. What has no counterpart is an error at its place, and then
    nothing is written; what means something slightly different is a warning. Types, which pyDatalog
    does not declare, are found from the constants. `-` is stdin.

    Examples:
      constat rules import examples/pydatalog/family.py
      constat rules import examples/pydatalog/family.py --output family.dl
      constat rules import examples/pydatalog/family.py --format json

    Exit codes: 0 done, 2 the file has errors, or the rules it makes have (they are written then).
    """
    text = _text(file)
    imported = import_rules(text, file)
    if output is not None and imported.text:
        write_file(output, imported.text.encode())
    code = 2 if imported.errors else 0
    if form == "json":
        write_json(_json(imported, code))
        return code
    write_diagnostics(imported.diagnostics, {file: text, WRITTEN: imported.text})
    if imported.text and output is None:
        write(imported.text.rstrip("\n"))
    elif imported.text:
        write(f"{imported.predicates} predicates and {imported.rules} rules written to {output}")
    return code


def _text(file: str) -> str:
    content = read_file(file, MAX_FILE)
    try:
        return content.decode()
    except UnicodeDecodeError:
        message = f"`{file}` is not UTF-8"
        raise ConstatError([Diagnostic("C0460", message)]) from None


def _json(imported: Imported, code: int) -> dict[str, object]:
    return {
        "exit_code": code,
        "predicates": imported.predicates,
        "rules": imported.rules,
        "text": imported.text,
        "diagnostics": to_json(imported.diagnostics),
    }
