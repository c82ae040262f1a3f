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
from constat.store.draft_values import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.library.listing import ListedPredicate, ListedRule, Listing
    from constat.store.drafts import Draft

_RULES: Final = ("RULE", "HEAD", "OWNER", "CONFIDENCE", "STATE", "PLACE", "SAYS")
_PREDICATES: Final = ("PREDICATE", "FROM", "RULES", "FACTS", "OWNER", "PLACE")
_DRAFTS: Final = ("DRAFT", "MODEL", "DRAFTED", "ASKED")
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
    rules and facts give it. Facts of the text are counted with their predicate. Drafts that wait
    in the quarantine are listed below.

    Examples:
      constat rules list
      constat rules list rules/customer-value --predicate is_vip
      constat rules list --proposed --format json

    Exit codes: 0 listed, 2 bad usage, configuration or rules.
    """
    listing, drafts = _listing(paths, project)
    listing = listing.only(predicate=predicate, owner=owner, proposed=proposed)
    # A draft is listed for what it speaks about; it has no owner yet.
    waiting = [
        one for one in drafts if not owner and (predicate or "") in {"", *mentioned(one.text)}
    ]
    if form == "json":
        write_json({**_json(listing), "drafts": [_draft_json(one) for one in waiting]})
    else:
        write_pieces(f"{line}\n" for line in _lines(listing))
        write_pieces(f"{line}\n" for line in _draft_lines(waiting))
    return 0


def _listing(paths: Sequence[str], project: str | None) -> tuple[Listing, tuple[Draft, ...]]:
    if not paths:
        with Session(project) as session, asked(session):
            return list_rules(session.program), session.drafts.list("proposed")
    texts: dict[str, str] = {}
    try:
        return read_listing([Path(path) for path in paths], texts), ()
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


def _draft_json(draft: Draft) -> dict[str, object]:
    return {
        "identity": draft.short,
        "purpose": draft.purpose,
        "goal": draft.goal,
        "model": draft.model,
        "asked_by": draft.asked_by,
        "at": draft.at,
        "text": draft.text,
    }


def _draft_lines(drafts: Sequence[Draft]) -> Iterator[str]:
    if drafts:
        yield ""
        yield from _table(_DRAFTS, [_draft_cells(one) for one in drafts])
        yield "drafts count nowhere by themselves: `constat rules review` shows them"


def _draft_cells(draft: Draft) -> tuple[str, ...]:
    return (draft.short, draft.model, draft.at[:19], " ".join(draft.purpose.split()))


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
