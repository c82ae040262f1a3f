"""`constat documents`: list the documents of a project, show what was read of them, search them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from constat.cli.catalog import grid
from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write, write_json, write_pieces
from constat.diagnostics import counted
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.documents import Document


@click.command(name="list", cls=PlainCommand)
@click.argument("name", required=False)
@format_option
@project_option
def list_command(name: str | None, *, form: str, project: str | None) -> None:
    """List the documents under NAME of `documents:`, or all.

    A document that cannot be read is listed with the reason.

    Examples:
      constat documents list --project examples/contracts
      constat documents list contracts --format json --project examples/contracts

    Exit codes: 0 listed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.documents.list(name or "")
    if form == "json":
        write_json({"documents": [_listed(source, one) for source, one in found]})
        return
    cells = [(one.name, one.kind, f"{one.size:,}", one.failure or _parts(one)) for _, one in found]
    write_pieces(f"{line}\n" for line in grid(("DOCUMENT", "KIND", "BYTES", "HOLDS"), cells))


def _listed(source: str, one: Document) -> dict[str, Any]:
    parsed = one.parsed
    return {
        "source": source,
        "document": one.name,
        "kind": one.kind,
        "bytes": one.size,
        "hash": one.hash,
        "title": "" if parsed is None else parsed.title,
        "sections": 0 if parsed is None else len(parsed.sections),
        "tables": 0 if parsed is None else len(parsed.tables),
        "reader": "" if parsed is None else parsed.reader,
        "failure": one.failure,
    }


def _parts(one: Document) -> str:
    parsed = one.parsed
    if parsed is None:
        return ""
    fields = sum(1 for _ in parsed.fields())
    counts = ((len(parsed.sections), "section"), (len(parsed.tables), "table"), (fields, "field"))
    return ", ".join(counted(n, what) for n, what in counts if n) or "text"


@click.command(name="show", cls=PlainCommand)
@click.argument("document")
@click.option("--section", metavar="TITLE", help="Only the sections of this title.")
@click.option("--parts", is_flag=True, help="Sections, headings of tables, and fields alone.")
@format_option
@project_option
def show_command(
    document: str, *, section: str | None, parts: bool, form: str, project: str | None
) -> int:
    """Show the text that is read of DOCUMENT, in which declarations look for words.

    Of a PDF, a page or a letter this is the text that its reader makes; with --parts what rows of
    `sections`, `table` and `fields` are found in it.

    Examples:
      constat documents show contracts/acme.md --project examples/contracts
      constat documents show contracts/acme.md --section Prices --project examples/contracts
      constat documents show contracts/acme.md --parts --format json --project examples/contracts

    Exit codes: 0 shown, 2 bad usage, configuration, or a document that cannot be read.
    """
    with Session(project) as session, asked(session):
        one = session.documents.open(document)
        text = session.documents.section(document, section) if section else ""
    if one.parsed is None:
        note(f"{one.name}: {one.failure}")
        return 2
    text = text or one.parsed.text
    if form == "json":
        write_json({"document": _listed("", one), "text": text, "parts": list(_found(one))})
    elif parts:
        write_pieces(f"{line}\n" for line in _part_lines(one))
    else:
        write(text.rstrip("\n"))
    return 0


def _found(one: Document) -> Iterator[dict[str, Any]]:
    parsed, places = one.parsed, one.places
    if parsed is None or places is None:
        return
    for part in parsed.sections:
        yield {"kind": "section", "line": places.line(part.start), "words": [part.title]}
    for table in parsed.tables:
        yield {"kind": "table", "line": places.line(table.start), "words": list(table.header)}
    for each in parsed.fields():
        yield {"kind": "field", "line": places.line(each.start), "words": [each.key, each.value]}


def _part_lines(one: Document) -> Iterator[str]:
    cells = [(f"{part['line']}", part["kind"], " | ".join(part["words"])) for part in _found(one)]
    yield from grid(("LINE", "KIND", "WORDS"), cells)


@click.command(name="search", cls=PlainCommand)
@click.argument("words", nargs=-1, required=True)
@click.option("--most", type=click.IntRange(1, 1_000), default=10, help="So many passages.")
@format_option
@project_option
def search_command(words: tuple[str, ...], *, most: int, form: str, project: str | None) -> None:
    """Find paragraphs of documents by WORDS; those that hold rare words come first.

    Examples:
      constat documents search notice period --project examples/contracts
      constat documents search liability --most 3 --format json --project examples/contracts

    Exit codes: 0 searched, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.documents.search(" ".join(words), most)
    if form == "json":
        names = ("source", "document", "section", "line", "text", "score")
        write_json({"passages": [{name: getattr(one, name) for name in names} for one in found]})
        return
    for one in found:
        where = f"{one.document}, line {one.line}" + (f", {one.section}" if one.section else "")
        write(f"{where}: {' '.join(one.text.split())}")
    if not found:
        note("nothing was found")


_COMMANDS: Final = (
    ("list", "List documents, and which cannot be read.", list_command),
    ("show", "Show the text that is read of a document.", show_command),
    ("search", "Find paragraphs by words.", search_command),
)


@click.group(name="documents", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Look at the documents of a project: what is read of them, and what they say.

    Rules ask documents by declarations: `constat explain C0582` shows one.
    """
