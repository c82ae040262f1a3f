"""`constat facts add|list|retract`: what people state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainGroup
from constat.cli.output import write, write_json
from constat.cli.results import stated_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.store import StoredFact


@click.group(name="facts", cls=PlainGroup)
def command() -> None:
    """State facts, list them, take them back.

    A stated fact is used from the next question on. What rests on it is proved UNDER the
    assumption that it is true.
    """


@command.command()
@click.argument("fact")
@click.option("--by", required=True, metavar="NAME", help="Who states it.")
@click.option("--note", default="", metavar="TEXT", help="Why, or where it comes from.")
@project_option
def add(fact: str, *, by: str, note: str, project: str | None) -> None:
    """State FACT.

    Example:
      constat facts add "customer_tier(C009, gold)" --by alice --note "signed on Monday"
    """
    with Session(project) as session, asked(session, fact=fact):
        stored = session.facts.add(fact, author=by, note=note)
        write(f"added: {session.facts.show(stored)}, stated by {stored.author}")


@command.command(name="list")
@click.argument("predicate", required=False)
@click.option("--history", is_flag=True, help="Also what was taken back.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@project_option
def list_command(predicate: str | None, *, history: bool, form: str, project: str | None) -> None:
    """List stated facts, of PREDICATE or all.

    Example:
      constat facts list --history
    """
    with Session(project) as session, asked(session):
        stored = session.facts.list(predicate, history=history)
        if form == "json":
            write_json([stated_json(fact, session.facts.show(fact)) for fact in stored])
        for fact in stored if form == "text" else ():
            write(_line(session, fact))


@command.command()
@click.argument("fact")
@click.option("--by", required=True, metavar="NAME", help="Who takes it back.")
@click.option("--author", metavar="NAME", help="Only what this person has stated.")
@project_option
def retract(fact: str, *, by: str, author: str | None, project: str | None) -> None:
    """Take FACT back. The record of it stays.

    Example:
      constat facts retract "customer_tier(C009, gold)" --by bob
    """
    with Session(project) as session, asked(session, fact=fact):
        for stored in session.facts.retract(fact, by=by, author=author):
            write(f"retracted: {session.facts.show(stored)}, stated by {stored.author}")


def _line(session: Session, fact: StoredFact) -> str:
    text = f"{session.facts.show(fact)}, stated by {fact.author} at {fact.added_at}"
    if fact.note:
        text += f": {fact.note}"
    if fact.retracted_at:
        text += f" (taken back by {fact.retracted_by} at {fact.retracted_at})"
    return text
