"""`constat rules list [PATH...]`: rules and predicates with their sentences, owners and places."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import bold, show_error, write_json, write_pieces
from constat.cli.tables import Table
from constat.diagnostics import ConstatError
from constat.library.listing import list_rules, read_listing
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.library.listing import ListedPredicate, ListedRule, Listing

_RULES: Final = ("RULE", "HEAD", "OWNER", "CONFIDENCE", "STATE", "PLACE", "SAYS")
_PREDICATES: Final = ("PREDICATE", "FROM", "RULES", "FACTS", "OWNER", "PLACE")
_NUMBERS: Final = frozenset({"CONFIDENCE", "RULES", "FACTS"})


@click.command(name="list", cls=PlainCommand)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--predicate", default="", metavar="NAME", help="Only what derives this predicate.")
@click.option("--owner", default="", metavar="NAME", help="Only what this owner answers for.")
@click.option("--proposed", is_flag=True, help="Only rules that nobody has approved yet.")
@format_option
@project_option
def command(
    paths: tuple[str, ...],
    *,
    predicate: str,
    owner: str,
    proposed: bool,
    form: str,
    project: str | None,
) -> int:
    """List the rules and predicates of rule files and folders; of the project without PATH.

    A rule is listed with its id, head, sentence, owner, confidence, whether it is approved or only
    proposed, and its place; a predicate with its columns, where its rows come from and how many
    rules and facts give it. Facts of the text are counted with their predicate.

    Examples:
      constat rules list
      constat rules list rules/customer-value --predicate is_vip
      constat rules list --proposed --format json

    Exit codes: 0 listed, 2 bad usage, configuration or rules.
    """
    listing = _listing(paths, project).only(predicate=predicate, owner=owner, proposed=proposed)
    if form == "json":
        write_json(_json(listing))
    else:
        write_pieces(f"{line}\n" for line in _lines(listing))
    return 0


def _listing(paths: Sequence[str], project: str | None) -> Listing:
    if not paths:
        with Session(project) as session, asked(session):
            return list_rules(session.program)
    texts: dict[str, str] = {}
    try:
        return read_listing([Path(path) for path in paths], texts)
    except ConstatError as problem:
        as_json = bool(click.get_current_context().find_root().obj)
        show_error(problem, texts, as_json=as_json)
        raise click.exceptions.Exit(problem.exit_code) from None


def _json(listing: Listing) -> dict[str, object]:
    predicates = []
    for one in listing.predicates:
        written = asdict(one)
        written["columns"] = [
            {"name": name, "type": type_name, "kind": kind} for name, type_name, kind in one.columns
        ]
        predicates.append(written)
    return {"rules": [asdict(rule) for rule in listing.rules], "predicates": predicates}


def _lines(listing: Listing) -> Iterator[str]:
    yield from _table(_RULES, [_rule_cells(rule) for rule in listing.rules])
    yield ""
    yield from _table(_PREDICATES, [_predicate_cells(one) for one in listing.predicates])


def _rule_cells(rule: ListedRule) -> tuple[str, ...]:
    place = f"{rule.file}:{rule.line}"
    return (rule.id, rule.head, rule.owner, rule.confidence, rule.status, place, rule.says)


def _predicate_cells(one: ListedPredicate) -> tuple[str, ...]:
    columns = ", ".join(
        f"{name}: {type_name}" if type_name == kind else f"{name}: {type_name} ({kind})"
        for name, type_name, kind in one.columns
    )
    place = f"{one.file}:{one.line}"
    origin = one.source or ("the project" if one.external else "rules")
    return (f"{one.name}({columns})", origin, str(one.rules), str(one.facts), one.owner, place)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        yield f"no {titles[0].lower()}s"
        return
    # What goes to a file or to another program is never cut.
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    table = Table(titles, [title in _NUMBERS for title in titles], most)
    table.fit(rows)
    yield bold(table.heading())
    yield from map(table.line, rows)
    if table.cut:
        yield f"cut to fit: {', '.join(table.cut)}; `--format json` shows all"
