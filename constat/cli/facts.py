"""`constat facts add|list|retract|tell`: what people state."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from constat.cli.confirmation import translation_lines
from constat.cli.groups import PlainCommand, PlainGroup, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write, write_json
from constat.cli.progress import watching
from constat.cli.results import print_result, stated_json, tell_conflicts
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session import Result
    from constat.session.drafted import FactsOfText
    from constat.store import StoredFact

draft_option = click.option(
    "--draft",
    default="",
    metavar="ID",
    help="Know the predicates of this draft, and try its goal again.",
)


@contextmanager
def beside(session: Session, draft: str) -> Iterator[Session]:
    """Give the session in which the predicates of a draft are known, if one is named."""
    if not draft:
        yield session
        return
    with session.with_drafts([draft]) as other:
        yield other


def print_again(result: Result) -> None:
    """Print what became of a draft's goal, the question that it was read from first."""
    write("")
    if result.translation is not None and result.translation.question:
        write(f"question: {result.translation.question}")
        for line in translation_lines(result.translation):
            write(line)
    print_result(result)


def verdict_json(result: Result) -> dict[str, object]:
    """Give what became of a goal that was tried again."""
    return {
        "goal": result.goal,
        "verdict": result.verdict.value,
        "exit_code": result.exit_code,
        "missing": list(result.missing),
    }


@click.command(name="tell", cls=PlainCommand)
@click.argument("text", default="")
@click.option("--by", required=True, metavar="NAME", help="Who tells it.")
@click.option(
    "--as",
    "atoms",
    metavar="FACT",
    multiple=True,
    help="A fact that the text says; may be given twice. No model is asked then.",
)
@click.option("--then", "goal", default="", metavar="GOAL", help="Prove GOAL afterwards.")
@click.option("--note", "remark", default="", metavar="TEXT", help="Where it comes from.")
@click.option("--document", default="", metavar="NAME", help="The words of a document, not TEXT.")
@click.option("--section", default="", metavar="TITLE", help="Of the document only this section.")
@draft_option
@click.option("--yes", is_flag=True, help="Keep what was found without asking.")
@format_option
@project_option
def tell_command(  # noqa: PLR0913  each part of what is told has an option
    text: str,
    *,
    by: str,
    atoms: tuple[str, ...],
    goal: str,
    remark: str,
    document: str,
    section: str,
    draft: str,
    yes: bool,
    form: str,
    project: str | None,
) -> int:
    """State the facts that TEXT tells in plain words.

    A language model finds them, or --as names them; either way each is held against the text: every
    value has to stand in one sentence, as it is or in another spelling ("1 million" is 1000000),
    and the sentence has to affirm it. What was found is shown and kept once it is confirmed: as the
    word of the person who tells it, with the sentence, and the model as what found it. What is
    refused is shown with the reason. With --document the words are those of a document of the
    project, which a model reads only where `read_by_model` says so; the fact names it by its hash.

    Examples:
      constat facts tell "C009 has gold" --as "customer_tier(C009, gold)" --by eve --yes
      constat facts tell "C9 is gold" --as "customer_tier(C9, gold)" --by eve --yes --format json

    Exit codes: 0 kept, 4 nothing was kept, 2 bad usage, configuration or facts. With --then those
    of `prove`, with --draft those of `ask`.
    """
    with _telling(project, goal, draft, one=bool(text) != bool(document)) as (own, session):
        with watching() as observe, session.observing(observe):
            told = session.provide_facts(
                text, author=by, goal=goal, atoms=atoms, document=document, section=section
            )
        if form == "text":
            _show(told)
        kept = told.keep(remark) if told.said and (yes or _confirmed(form)) else ()
        result = None
        if goal or draft:
            with watching() as observe:
                result = told.retry(observe) if goal else own.prove_draft(draft, observe=observe)
        conflicts = [text for one in kept for text in _conflicts(session, one)]
        if form == "json":
            write_json({**_json(session, told, kept, result), "conflicts": conflicts})
        else:
            _tell(session, kept, result)
            tell_conflicts(conflicts)
    return (0 if kept else 4) if result is None else result.exit_code


@contextmanager
def _telling(
    project: str | None, goal: str, draft: str, *, one: bool
) -> Iterator[tuple[Session, Session]]:
    """Give the project's session, and the one that knows the draft as well."""
    if not one:
        raise click.UsageError("give either TEXT or --document NAME")
    with (
        Session(project) as own,
        asked(own, goal=goal, typed={}),
        beside(own, draft) as session,
        # What finds the facts is asked in the session that knows the draft.
        asked(session, goal=goal, typed={}) if draft else nullcontext(),
    ):
        yield own, session


def _conflicts(session: Session, fact: StoredFact) -> tuple[str, ...]:
    return session.facts.conflicts(session.facts.show(fact))


def _show(told: FactsOfText) -> None:
    for one in told.said:
        write(f"says: {one.fact}")
        write(f"  in: {' '.join(one.sentence.split())}")
    for refused in told.refused:
        note(f"refused: {refused.atom or 'what the model gave'}: {refused.reason}")
    if told.model:
        note(f"found by {told.model}")


def _confirmed(form: str) -> bool:
    """Ask a person; where none is there, nothing is kept without `--yes`."""
    if form == "json" or not sys.stdin.isatty():
        message = "nothing was kept: nobody is there to confirm it"
        raise ConstatError([Diagnostic("C0888", message, help="add `--yes`")])
    return click.confirm("Keep this?", err=True)


def _tell(session: Session, kept: tuple[StoredFact, ...], result: Result | None) -> None:
    for one in kept:
        write(f"added: {session.facts.show(one)}, told by {one.author}")
    if not kept:
        note("nothing was kept")
    if result is not None:
        print_again(result)


def _json(
    session: Session, told: FactsOfText, kept: tuple[StoredFact, ...], result: Result | None
) -> dict[str, object]:
    return {
        "said": [
            {"fact": one.fact, "sentence": one.sentence, "start": one.start, "end": one.end}
            for one in told.said
        ],
        "refused": [{"fact": one.atom, "reason": one.reason} for one in told.refused],
        "kept": [stated_json(one, session.facts.show(one)) for one in kept],
        "model": told.model,
        "goal": None if result is None else result.goal,
        "verdict": None if result is None else result.verdict.value,
        "exit_code": (0 if kept else 4) if result is None else result.exit_code,
        "models": session.model_usage,
    }


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

    By name, columns may be left out where the key is given: that fills NULLs of a row. What rules
    derive cannot be stated; state what they rest on. The fact is kept in the project's state folder
    with its author and time. Where a source says another value for the same key, that is told at
    once: `conflicts:` in constat.yaml says which counts, by default the source's. With --draft the
    predicates of a draft are known too, and the goal of its question is tried again.

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


command.add_command(tell_command)


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
