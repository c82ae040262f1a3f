"""`constat catalog`: look at what the sources hold; draft declarations."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import (
    bold,
    note,
    show_error,
    write,
    write_diagnostics,
    write_file,
    write_json,
    write_pieces,
)
from constat.cli.tables import Table
from constat.diagnostics import ConstatError, Diagnostic, counted, to_json
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.schema import ColumnSchema, DatabaseSummary, Link, Refreshed, TableSchema
    from constat.session.catalog import DraftedTables
    from constat.store.catalog import KeptTable

_NUMBERS: Final = frozenset({"ROWS", "COLUMNS", "COUNT"})


def grid(titles: tuple[str, ...], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give rows in columns; what goes to a file or to another program is never cut."""
    if not rows:
        return
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    table = Table(titles, [title in _NUMBERS for title in titles], most)
    table.fit(rows)
    yield bold(table.heading())
    yield from map(table.line, rows)


def size_text(one: KeptTable) -> tuple[str, str]:
    """Give the number of rows, as far as it is known, and of columns."""
    return ("" if one.rows is None else f"{one.rows:,}", f"{one.columns:,}")


def note_trouble(reason: str) -> None:
    """Say that nothing can be kept."""
    if reason:
        note(f"the catalog is not kept ({reason}); each program reads the sources anew")


@click.command(name="list", cls=PlainCommand)
@click.argument("database", required=False)
@format_option
@project_option
def list_command(database: str | None, *, form: str, project: str | None) -> None:
    """List the tables of DATABASE, or of all databases, APIs and documents of the project.

    The operations of an API are listed like tables, and so is what documents hold. A database that
    does not answer is listed with the reason, and with the tables that were seen when it last did.

    Examples:
      constat catalog list
      constat catalog list sales --format json

    Exit codes: 0 listed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        tables = session.catalog.tables(database)
        found = session.catalog.databases()
        databases = [one for one in found if database in {None, one.name}]
        note_trouble(session.catalog.trouble)
    if form == "json":
        write_json(
            {
                "databases": [_database_json(one) for one in databases],
                "tables": [_table_json(one) for one in tables],
            }
        )
        return
    for one in databases:
        write(_database_text(one))
    cells = [(f"{one.source}.{one.label}", one.kind, *size_text(one)) for one in tables]
    write_pieces(f"{line}\n" for line in grid(("TABLE", "KIND", "ROWS", "COLUMNS"), cells))


def _database_text(one: DatabaseSummary) -> str:
    what = "operation" if one.kind in {"openapi", "graphql"} else "table"
    text = f"{one.name}: {counted(one.tables, what)}"
    if one.failure:
        text += f"; it does not answer: {one.failure}"
        text += f" (as seen at {one.seen_at})" if one.seen_at else ""
    return text + "".join(f"; {problem}" for problem in one.problems)


def _database_json(one: DatabaseSummary) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "tables": one.tables,
        "seen_at": one.seen_at,
        "failure": one.failure,
        "problems": list(one.problems),
    }


def _table_json(one: KeptTable) -> dict[str, object]:
    return {
        "database": one.source,
        "table": one.label,
        "kind": one.kind,
        "rows": one.rows,
        "columns": one.columns,
        "comment": one.comment,
    }


@click.command(name="show", cls=PlainCommand)
@click.argument("table")
@click.option("--check", is_flag=True, help="Hold what is declared against what is stored.")
@format_option
@project_option
def show_command(table: str, *, check: bool, form: str, project: str | None) -> int:
    """Show the columns of TABLE with types and keys, what it points to and what points to it.

    TABLE is `orders`, or `sales.orders`; of an operation its parameters come first, then the fields
    of its answers. Relationships that nobody has declared are inferred from
    names and types, those to tables of other sources too, and say so. TYPE is the source's word,
    KIND what a draft declares: of a table of a database by its rows, with --check. Of a file it is
    said what nothing decides about how its numbers and days are written. With --check rows are
    read: values that are not of the declared type, keys that are repeated or NULL, values that
    point nowhere and equal rows are told. No value is shown.

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
        kinds, remarks = _said_of_rows(session, found, read=check)
        note_trouble(session.catalog.trouble)
    if form == "json":
        shown = _json(found, kinds, links, findings, checked=check)
        write_json({**shown, "remarks": list(remarks)})
    else:
        _write(found, kinds, links)
        for one in remarks:
            write(f"remark: {one}")
        write_diagnostics(findings, {})
        if check and not findings:
            write("what is declared is what is stored")
    return int(any(one.severity.value == "warning" for one in findings))


def _said_of_rows(
    session: Session, table: TableSchema, *, read: bool
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Give the kinds of columns, and what nothing decides about how a file is written."""
    from constat.session.catalog import drafted_kinds, table_remarks  # noqa: PLC0415  loaded when it is used

    kinds = drafted_kinds(session.catalog, table, read=read)
    database = session.project.databases.get(table.database)
    if database is None or not database.files:
        return kinds, ()
    return kinds, table_remarks(session.project, database, [table.name])[table.name]


def _write(table: TableSchema, kinds: Mapping[str, str], links: Sequence[Link]) -> None:
    rows = "" if table.rows is None else f", {'' if table.counted else 'about '}{table.rows:,} rows"
    write(f"{table.path}: {table.kind}{rows}")
    if table.comment:
        write(table.comment)
    heads = ("COLUMN", "TYPE", *(("KIND",) if kinds else ()), "IS", "COMMENT")
    cells = []
    for one in table.columns:
        kind = (kinds.get(one.name, ""),) if kinds else ()
        cells.append((one.name, one.declared, *kind, _notes(table, one), one.comment))
    write_pieces(f"{line}\n" for line in grid(heads, cells))
    for unique in table.unique:
        write(f"unique: {', '.join(unique)}")
    for name, values in table.accepted:
        write(f"{name} is one of {', '.join(values)}: a test of dbt says so")
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
    table, target = link.ends()
    one = f"{table}({', '.join(link.columns)})"
    other = f"{target}({', '.join(link.target_columns)})"
    how = "points to" if link.declared else "may point to"
    return f"{one} {how} {other}" + (f": {link.evidence}" if link.evidence else "")


def _json(
    table: TableSchema,
    kinds: Mapping[str, str],
    links: Sequence[Link],
    findings: Sequence[Diagnostic],
    *,
    checked: bool,
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
                "kind": kinds.get(one.name, ""),
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
    table, target = one.ends()
    return {
        "table": table,
        "columns": list(one.columns),
        "target": target,
        "target_columns": list(one.target_columns),
        "declared": one.declared,
        "evidence": one.evidence,
    }


_KINDS = ("table", "operation", "column", "predicate", "rule")


@click.command(name="search", cls=PlainCommand)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only these; may be repeated."
)
@click.option(
    "--most", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many."
)
@format_option
@project_option
def search_command(
    words: tuple[str, ...], *, kinds: tuple[str, ...], most: int, form: str, project: str | None
) -> None:
    """Find tables, operations, columns, predicates and rules by WORDS.

    They are those of their names, comments and sentences.

    Beginnings of words count where whole words find too little; `CustomerID` is found by
    `customer`. Where no name has all the words, others count that name the same: `client` and
    `Kunde` find customers, and so does what comments and rules call them. What fits best comes
    first.

    Examples:
      constat catalog search customer revenue
      constat catalog search vip --kind rule --kind predicate --format json

    Exit codes: 0 searched (also where nothing fits), 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.catalog.search(" ".join(words), kinds or _KINDS, most)
        note_trouble(session.catalog.trouble)
    if form == "json":
        hits = [
            {"kind": one.kind, "name": one.name, "place": one.place, "about": one.about}
            for one in found.hits
        ]
        write_json({"hits": hits, "meant": list(found.meant)})
        return
    for one in found.hits:
        write(
            f"{one.kind:<9}  {one.name}" + (f"  {' '.join(one.about.split())}" if one.about else "")
        )
    if not found.hits:
        meant = ", ".join(found.meant)
        note("nothing fits" + (f"; near are: {meant}" if meant else ""))


@click.command(name="sample", cls=PlainCommand)
@click.argument("table")
@click.argument("columns", nargs=-1, metavar="[COLUMN...]")
@click.option(
    "--most", type=click.IntRange(1, 50), default=5, show_default=True, help="How many of each."
)
@click.option("--allow", is_flag=True, help="Show them although constat.yaml does not say so.")
@format_option
@project_option
def sample_command(
    table: str,
    columns: tuple[str, ...],
    *,
    most: int,
    allow: bool,
    form: str,
    project: str | None,
) -> None:
    """Show the most frequent values of COLUMN... (or of all columns) among the first rows.

    Values are shown, and given to a language model, only where `catalog: {samples: [...]}` in
    constat.yaml names the database, `database.table` or `database.table.column`. --allow is your
    own word for this one time. Values are kept nowhere.

    Examples:
      constat catalog sample accounts tier --allow
      constat catalog sample sales.accounts tier --allow --most 3 --format json

    Exit codes: 0 shown, 2 bad usage or configuration, not allowed, or the source does not answer.
    """
    with Session(project) as session, asked(session):
        found = session.catalog.sample(table, columns, most=most, allowed=allow)
    if form == "json":
        write_json(
            {
                "columns": [
                    {
                        "column": one.column,
                        "values": [{"value": text, "count": times} for text, times in one.values],
                        "cut": one.cut,
                    }
                    for one in found
                ]
            }
        )
        return
    for one in found:
        write(f"{one.column}:" + ("" if one.values else " no values"))
        for text, times in one.values:
            write(f"  {times:>6,}  {text!r}")
        if one.cut:
            write("          ...")


@click.command(name="refresh", cls=PlainCommand)
@click.argument("database", required=False)
@format_option
@project_option
def refresh_command(database: str | None, *, form: str, project: str | None) -> int:
    """Read the tables of DATABASE, or of all databases, whether they have changed or not.

    Columns, types and keys that differ from what was last read are told; an API is asked for its
    description again. Changes of tables are noticed without this, too; sizes and what a driver
    cannot watch are brought up to date by it. Each declaration that does not fit what its source
    is now is told with an edit, by `constat doctor` as well, for as long as it does not fit.

    Examples:
      constat catalog refresh
      constat catalog refresh sales --format json

    Exit codes: 0 read, 2 bad usage or configuration, or a source did not answer.
    """
    from constat.session.diagnosis import disagreements  # noqa: PLC0415  loaded when it is used

    with Session(project) as session, asked(session):
        found = session.catalog.refresh(database)
        apis = session.project.apis
        note_trouble(session.catalog.trouble)
        names = [one.name for one in found if not one.failure]
        doubts = list(disagreements(session.project.folder, names))
    if form == "json":
        told = [one.as_json() for one in doubts]
        write_json({"databases": [_refresh_json(one) for one in found], "declarations": told})
    for one in found if form == "text" else ():
        write(_text(one, "operation" if one.name in apis else "table"))
    for doubt in doubts if form == "text" else ():
        write(doubt.as_text())
    return 2 if any(one.failure for one in found) else 0


def _text(one: Refreshed, what: str) -> str:
    if one.failure:
        return f"{one.name}: it does not answer: {one.failure}"
    state = "changed" if one.changed else "unchanged"
    text = f"{one.name}: {counted(one.tables, what)}, {state}"
    return text + "".join(f"; {problem}" for problem in one.problems)


def _refresh_json(one: Refreshed) -> dict[str, object]:
    return {
        "name": one.name,
        "tables": one.tables,
        "changed": one.changed,
        "failure": one.failure,
        "problems": list(one.problems),
    }


@click.command(name="draft", cls=PlainCommand)
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--columns", metavar="A,B,...", help="Only these columns; for one table.")
@click.option("--output", metavar="FILE", help="Write the file, which must not exist.")
@format_option
@project_option
def draft_command(
    tables: tuple[str, ...],
    *,
    columns: str | None,
    output: str | None,
    form: str,
    project: str | None,
) -> int:
    """Draft a rule file with a .decl and an .input for each TABLE, all of one database or API.

    The name of a database stands for its tables. Rows are looked at: kinds are those of the stored
    values, a key is named where it is one, columns that may be NULL get `@[null = maybe]`: a value
    or none. What is declared and not so is said in a comment, and what could not be read is left
    out. How a file is written is noted, where constat.yaml does not say so. No value is shown.
    `constat rules check` accepts the file as it is; in a folder that `rules:` of constat.yaml names
    it counts at once. An operation is not asked: what it says of itself is drafted, a declaration
    for each list in its answers.

    Examples:
      constat catalog draft orders customers
      constat catalog draft sales.orders --columns id,amount --output orders.dl
      constat catalog draft sales
      constat catalog draft accounts --format json

    Exit codes: 0 drafted, 1 drafted but for tables that cannot be read, 2 bad usage or
    configuration, or nothing can be read.
    """
    chosen = [part.strip() for part in (columns or "").split(",") if part.strip()]
    read = False
    with Session(project) as session, asked(session):
        found = session.draft_tables(tables, chosen)
        if output is not None:
            _write_new(output, found.text)
            read = session.project.reads(Path(output))
    if form == "json":
        write_json(_draft_json(found, output))
        return int(bool(found.problems))
    for one in found.hints:
        note(one)
    if output is None:
        write(found.text.rstrip("\n"))
    else:
        for one in found.signatures:
            write(f"drafted: {one}")
        counts = ", which the rules of the project include now"
        write(f"written to {output}{counts if read else '; name it in `rules:` of constat.yaml'}")
    if found.problems:
        show_error(ConstatError(found.problems))
    return int(bool(found.problems))


def _draft_json(found: DraftedTables, output: str | None) -> dict[str, object]:
    return {
        "database": found.database,
        "predicates": list(found.signatures),
        "findings": [
            one.message for predicate in found.predicates for one in predicate.checked.findings
        ],
        "text": found.text,
        "output": output,
        "hints": list(found.hints),
        "problems": to_json(found.problems),
    }


def _write_new(output: str, text: str) -> None:
    """Write a file that is not there: a draft that somebody has worked on is not overwritten."""
    if os.path.lexists(output):
        message = f"`{output}` exists already"
        hint = "name another file, or move it away"
        raise ConstatError([Diagnostic("C0845", message, help=hint)])
    write_file(output, text.encode())


_COMMANDS: Final = (
    ("list", "List databases and tables.", list_command),
    ("show", "Show a table: columns, keys, relationships.", show_command),
    ("search", "Find tables, columns, predicates and rules by words.", search_command),
    ("sample", "Show values of a table, where the project allows it.", sample_command),
    ("refresh", "Read again what the sources hold.", refresh_command),
    ("draft", "Draft declarations for tables.", draft_command),
)


@click.group(name="catalog", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Look at what the sources of a project hold.

    Tables are read once and kept in the state folder until they change: names, types, keys,
    comments and sizes, and never a value of a row.
    """
