"""`constat catalog search WORDS...`: tables, columns, predicates and rules by words."""

from __future__ import annotations

import click

from constat.cli.asking import asked, project_option
from constat.cli.catalog_text import note_trouble
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.session import Session

_KINDS = ("table", "column", "predicate", "rule")


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
def command(
    words: tuple[str, ...], *, kinds: tuple[str, ...], most: int, form: str, project: str | None
) -> None:
    """Find tables, columns, predicates and rules by WORDS of their names, comments and sentences.

    Beginnings of words count where whole words find too little; `CustomerID` is found by
    `customer`. What fits best comes first.

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
        write(f"{one.kind:<9}  {one.name}" + (f"  {one.about}" if one.about else ""))
    if not found.hits:
        meant = ", ".join(found.meant)
        note("nothing fits" + (f"; near are: {meant}" if meant else ""))
