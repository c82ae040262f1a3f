"""`constat rules fmt PATH...`: rule files in the canonical layout.

In: files, folders, or `-` for stdin. Out: the same files, each written whole or not at all. A file
with errors is left as it is.
"""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.files import read_file, write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import show_error, write, write_json
from constat.diagnostics import ConstatError, Diagnostic, to_json
from constat.library import rule_files
from constat.library.rewriting import Rewritten, declared_near, rewrite
from constat.syntax.argument_styles import ArgumentStyle
from constat.syntax.loading import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

_STDIN: Final = "-"
_STDIN_NAME: Final = "<stdin>"
_WORDS: Final = ("error", "changed", "unchanged")


@click.command(name="fmt", cls=PlainCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@click.option(
    "--positional", is_flag=True, help="Write no names of columns, as stock Souffle wants it."
)
@format_option
def command(paths: tuple[str, ...], *, check: bool, diff: bool, positional: bool, form: str) -> int:
    """Write rule files, and folders of them, in the canonical layout; `-` is stdin to stdout.

    Comments stay where they are, and what the rules say never changes. A rule that fits into 100
    columns stands on one line, another one has one literal per line; of blank lines in a row one
    stays; each attribute of an item has its line. Line ends and permissions of a file are kept. A
    file with errors is not touched.

    Atoms of predicates with more than five columns are written with the names of their columns,
    `orders(order_id = ?o, amount = ?a)`, without those that hold `_`; facts stay as they are, and
    with --positional no atom has names. Declarations are looked up in the file, in those named with
    it and in those beside them.

    Examples:
      constat rules fmt rules
      constat rules fmt --check rules examples
      constat rules fmt --diff rules/customer-value/vip.dl
      constat rules fmt --check rules --format json
      constat rules fmt --positional --diff rules

    Exit codes: 0 done, 1 a file would change (with --check), 2 a file has errors or is not there.
    """
    style = ArgumentStyle.POSITIONAL if positional else ArgumentStyle.WIDE_NAMED
    if _STDIN in paths:
        return _filter(paths, style, check=check, diff=diff, form=form)
    found: list[Diagnostic] = []
    files = rule_files([Path(path) for path in paths], found, with_cases=True)
    if found:
        raise ConstatError(found)
    known = declared_near(files)
    rewritten = [
        rewrite(read_file(str(path), MAX_FILE), _shown(path), known=known, style=style)
        for path in files
    ]
    if not check and not diff:
        for path, one in zip(files, rewritten, strict=True):
            if one.changed and one.after is not None:
                write_file(str(path), one.after)
    code = _exit_code(rewritten, check=check)
    if form == "json":
        write_json(_json(rewritten, code, diff=diff))
    else:
        _tell(rewritten, diff=diff, check=check)
    return code


def _filter(
    paths: Sequence[str], style: ArgumentStyle, *, check: bool, diff: bool, form: str
) -> int:
    """Lay out stdin; what has errors is not printed, so that no editor replaces a text by nothing.

    With JSON the text itself is not printed either.
    """
    if len(paths) > 1:
        raise click.UsageError("`-` stands for stdin and stands alone")
    one = rewrite(read_file(_STDIN, MAX_FILE), _STDIN_NAME, style=style)
    code = _exit_code([one], check=check)
    if form == "json":
        write_json(_json([one], code, diff=diff))
    elif diff or check or one.after is None:
        _tell([one], diff=diff, check=check)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(one.after)
        sys.stdout.buffer.flush()
    return code


def _exit_code(rewritten: Sequence[Rewritten], *, check: bool) -> int:
    if any(one.after is None for one in rewritten):
        return 2
    return int(check and any(one.changed for one in rewritten))


def _tell(rewritten: Sequence[Rewritten], *, diff: bool, check: bool) -> None:
    kept = check or diff
    for one in rewritten:
        if one.after is None:
            show_error(ConstatError(one.diagnostics), one.texts)
        elif diff and one.changed:
            write(_diff(one).rstrip("\n"))
        elif one.changed:
            write(f"{'would change' if kept else 'changed'} {one.name}")
    counts = {word: sum(one.status == word for one in rewritten) for word in _WORDS}
    told = [f"{counts['changed']} would change" if kept else f"{counts['changed']} changed"]
    told.append(f"{counts['unchanged']} unchanged")
    told += [f"{counts['error']} with errors"] if counts["error"] else []
    if not diff:
        write(", ".join(told))


def _json(rewritten: Sequence[Rewritten], code: int, *, diff: bool) -> dict[str, object]:
    return {
        "exit_code": code,
        "files": [
            {
                "file": one.name,
                "status": one.status,
                "diff": _diff(one) if diff else "",
                "diagnostics": to_json(one.diagnostics),
            }
            for one in rewritten
        ],
    }


def _diff(one: Rewritten) -> str:
    if one.after is None or not one.changed:
        return ""
    before, after = (
        text.decode(errors="replace").replace("\r\n", "\n").splitlines(keepends=True)
        for text in (one.before, one.after)
    )
    lines = difflib.unified_diff(before, after, one.name, f"{one.name} (laid out)")
    # A file whose last line has no end would run into the next line of the difference.
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _shown(path: Path) -> str:
    """The path as people would write it here."""
    near = os.path.relpath(path)
    return near if not near.startswith("..") else str(path)
