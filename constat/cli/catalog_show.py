"""`constat catalog show TABLE`: a table, and with --check what it stores against its word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.catalog_text import grid, note_trouble
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_diagnostics, write_json, write_pieces
from constat.diagnostics import to_json
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.schema import ColumnSchema, Link, TableSchema
    from constat.diagnostics import Diagnostic


@click.command(name="show", cls=PlainCommand)
@click.argument("table")
@click.option("--check", is_flag=True, help="Hold what is declared against what is stored.")
@format_option
@project_option
def command(table: str, *, check: bool, form: str, project: str | None) -> int:
    """Show the columns of TABLE with types and keys, what it points to and what points to it.

    TABLE is `orders`, or `sales.orders`. Relationships that nobody has declared are inferred from
    names and types, and say so. With --check rows are read: values that are not of the declared
    type, keys that are repeated or NULL, values that point nowhere and equal rows are told. No
    value is shown.

    Examples:
      constat catalog show orders
      constat catalog show sales.orders --check --format json

    Exit codes: 0 shown, 1 what is declared is not what is stored (with --check), 2 bad usage or
    configuration, or the source does not answer.
    """
    findings: tuple[Diagnostic, ...] = ()
    with Session(project) as session, asked(session):
        found = session.catalog.table(table)
        links = session.catalog.relationships(found.path)
        if check:
            findings = session.catalog.check(found.path).findings
        note_trouble(session.catalog.trouble)
    if form == "json":
        write_json(_json(found, links, findings, checked=check))
    else:
        _write(found, links)
        write_diagnostics(findings, {})
        if check and not findings:
            write("what is declared is what is stored")
    return int(any(one.severity.value == "warning" for one in findings))


def _write(table: TableSchema, links: Sequence[Link]) -> None:
    rows = "" if table.rows is None else f", {'' if table.counted else 'about '}{table.rows:,} rows"
    write(f"{table.path}: {table.kind}{rows}")
    if table.comment:
        write(table.comment)
    cells = [(one.name, one.declared, _notes(table, one), one.comment) for one in table.columns]
    write_pieces(f"{line}\n" for line in grid(("COLUMN", "TYPE", "IS", "COMMENT"), cells))
    for unique in table.unique:
        write(f"unique: {', '.join(unique)}")
    for link in links:
        write(_link_text(link))
    for problem in table.problems:
        write(f"not known: {problem}")


def _notes(table: TableSchema, column: ColumnSchema) -> str:
    notes = ["key"] if column.name in table.key else []
    declares = table.kind == "table" and column.name not in table.key
    notes += [] if column.nullable else ["not null"]
    notes += ["may be missing"] if column.nullable and declares else []
    return ", ".join([*notes, *(["computed"] if column.generated else [])])


def _link_text(link: Link) -> str:
    one = f"{link.table}({', '.join(link.columns)})"
    other = f"{link.target}({', '.join(link.target_columns)})"
    how = "points to" if link.declared else "may point to"
    return f"{one} {how} {other}" + (f": {link.evidence}" if link.evidence else "")


def _json(
    table: TableSchema, links: Sequence[Link], findings: Sequence[Diagnostic], *, checked: bool
) -> dict[str, object]:
    return {
        "database": table.database,
        "table": table.label,
        "kind": table.kind,
        "rows": table.rows,
        "counted": table.counted,
        "comment": table.comment,
        "columns": [
            {
                "name": one.name,
                "declared": one.declared,
                "nullable": one.nullable,
                "computed": one.generated,
                "comment": one.comment,
            }
            for one in table.columns
        ],
        "key": list(table.key),
        "unique": [list(one) for one in table.unique],
        "relationships": [_link_json(one) for one in links],
        "problems": list(table.problems),
        "checked": checked,
        "findings": to_json(findings),
    }


def _link_json(one: Link) -> dict[str, object]:
    return {
        "table": one.table,
        "columns": list(one.columns),
        "target": one.target,
        "target_columns": list(one.target_columns),
        "declared": one.declared,
        "evidence": one.evidence,
    }
