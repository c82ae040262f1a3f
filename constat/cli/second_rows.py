"""`constat query --engine pydatalog`: rows by another engine, for comparison.

In: a session and a query. Out: the rows as a table, CSV or JSON, and an exit code: 0 for an answer,
also an empty one, 4 for none. Invariant: no row is shown with a verdict, because nothing is proved.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

import click

from constat.cli.output import note, use_utf8, write, write_json, write_pieces
from constat.cli.progress import watching
from constat.cli.row_formats import value_json
from constat.cli.tables import Table
from constat.logic import display_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session import SecondRows, Session

_FORMATS: Final = ("table", "csv", "json")
_NO_ANSWER: Final = 4


def give_second_rows(session: Session, goal: str, *, form: str) -> int:
    """Ask pyDatalog and print what it says; give the exit code."""
    if form not in _FORMATS:
        raise click.UsageError(f"--format {form} cannot be used with --engine pydatalog")
    with watching() as observe:
        found = session.second_rows(goal, observe=observe)
    code = _NO_ANSWER if found.stopped else 0
    if form == "json":
        write_json(_as_json(found, code))
        return code
    if form == "csv":
        use_utf8()
        write_pieces(_csv(found))
    elif found.columns and found.rows:
        write_pieces(_table(found))
    told = f"no answer: {found.stopped}" if found.stopped else f"{len(found.rows):,} rows"
    (write if form == "table" else note)(f"{told} by pyDatalog, without proofs")
    return code


def _cells(found: SecondRows) -> Iterator[list[str]]:
    kinds = [column.kind for column in found.columns]
    for row in found.rows:
        yield [display_value(value, kind) for value, kind in zip(row, kinds, strict=True)]


def _table(found: SecondRows) -> Iterator[str]:
    names = [column.name for column in found.columns]
    table = Table(names, [column.kind.numeric for column in found.columns], None)
    table.fit(_cells(found))
    yield table.heading() + "\n"
    for row in _cells(found):
        yield table.line(row) + "\n"
    yield "\n"


def _csv(found: SecondRows) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([column.name for column in found.columns])
    writer.writerows(_cells(found))
    yield text.getvalue()


def _as_json(found: SecondRows, code: int) -> dict[str, object]:
    return {
        "query": found.query,
        "engine": "pydatalog",
        "exit_code": code,
        "reason": found.stopped,
        "columns": [{"name": one.name, "kind": one.kind.value} for one in found.columns],
        "rows": [
            {
                column.name: value_json(value, column.kind)
                for value, column in zip(row, found.columns, strict=True)
            }
            for row in found.rows
        ],
    }
