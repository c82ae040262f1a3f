"""`constat facts add|list|retract|tell`: what people state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.facts_tell import beside, draft_option, print_again, verdict_json
from constat.cli.facts_tell import command as tell
from constat.cli.helping import PlainGroup, format_option
from constat.cli.output import note, write, write_json
from constat.cli.results import stated_json
from constat.cli.verdict_text import tell_conflicts
from constat.session import Session

if TYPE_CHECKING:
    from constat.store import StoredFact


@click.group(name="facts", cls=PlainGroup)
def command() -> None:
    """State facts, tell them in words, list them, take them back.

    A stated fact is used from the next question on. What rests on it is proved UNDER the
    assumption that it is true.
    """


@command.command()
@click.argument("fact")
@click.option("--by", required=True, metavar="NAME", help="Who states it.")
@click.option("--note", default="", metavar="TEXT", help="Why, or where it comes from.")
@draft_option
@format_option
@project_option
def add(fact: str, *, by: str, note: str, draft: str, form: str, project: str | None) -> int:
    """State FACT: a predicate with a value in each column, as in goals.

    What rules derive cannot be stated; state what they rest on. The fact is kept in the project's
    state folder with its author and time. Where a source says another value for the same key, that
    is told at once: `conflicts:` in constat.yaml says which counts, by default the source's. With
    --draft the predicates of a draft are known too, and the goal of its question is tried again.

    Examples:
      constat facts add "customer_tier(C009, gold)" --by alice --note "signed on Monday"
      constat facts add "contract_value(C009, 250000)" --by alice --format json

    Exit codes: 0 stated, 2 bad usage, configuration or fact. With --draft those of `ask`.
    """
    with Session(project) as own, asked(own, fact=fact), beside(own, draft) as session:
        stored = session.facts.add(fact, author=by, note=note)
        conflicts = session.facts.conflicts(fact)
        result = own.prove_draft(draft) if draft else None
        if form == "json":
            told = stated_json(stored, session.facts.show(stored))
            then = {} if result is None else {"then": verdict_json(result)}
            write_json({**told, "conflicts": list(conflicts), **then})
        else:
            write(_added(stored, session.facts.show(stored)))
            tell_conflicts(conflicts)
            if result is not None:
                print_again(result)
        return 0 if result is None else result.exit_code


@command.command(name="list")
@click.argument("predicate", required=False)
@click.option("--history", is_flag=True, help="Also what was taken back.")
@format_option
@project_option
def list_command(predicate: str | None, *, history: bool, form: str, project: str | None) -> None:
    """List the facts that people have stated, of PREDICATE or all.

    Examples:
      constat facts list
      constat facts list customer_tier --history
      constat facts list --format json

    Exit codes: 0 listed (also where there is none), 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        stored = session.facts.list(predicate, history=history)
        if form == "json":
            write_json([stated_json(fact, session.facts.show(fact)) for fact in stored])
        elif not stored:
            note("no facts are stated; `constat facts add` states one")
        for fact in stored if form == "text" else ():
            write(_line(session, fact))


@command.command()
@click.argument("fact")
@click.option("--by", required=True, metavar="NAME", help="Who takes it back.")
@click.option("--author", metavar="NAME", help="Only what this person has stated.")
@draft_option
@format_option
@project_option
def retract(
    fact: str, *, by: str, author: str | None, draft: str, form: str, project: str | None
) -> None:
    """Take FACT back. The record of it stays; `constat facts list --history` shows it.

    Examples:
      constat facts retract "customer_tier(C009, gold)" --by bob
      constat facts retract "contract_value(C009, 250000)" --by bob --author alice --format json

    Exit codes: 0 taken back, 2 bad usage, configuration or fact, or nobody has stated it.
    """
    with Session(project) as own, asked(own, fact=fact), beside(own, draft) as session:
        retracted = session.facts.retract(fact, by=by, author=author)
        if form == "json":
            write_json([stated_json(stored, session.facts.show(stored)) for stored in retracted])
        for stored in retracted if form == "text" else ():
            write(f"retracted: {session.facts.show(stored)}, stated by {stored.author}")


command.add_command(tell)


def _added(stored: StoredFact, shown: str) -> str:
    if stored.repeated:
        return f"already stated: {shown}, by {stored.author} at {stored.added_at}"
    return f"added: {shown}, stated by {stored.author}"


def _line(session: Session, fact: StoredFact) -> str:
    text = f"{session.facts.show(fact)}, stated by {fact.author} at {fact.added_at}"
    if fact.note:
        text += f": {fact.note}"
    if fact.told is not None:
        text += f", in the words: {' '.join(fact.told.words.split())}"
    if fact.retracted_at:
        text += f" (taken back by {fact.retracted_by} at {fact.retracted_at})"
    return text
