"""`constat facts tell TEXT`: facts in plain words, each with the sentence that says it."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.confirming_options import translation_lines
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.cli.progress import watching
from constat.cli.results import stated_json
from constat.cli.verdict_text import print_result, tell_conflicts
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.session import Result
    from constat.session.telling import Told
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
@click.argument("text")
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
@draft_option
@click.option("--yes", is_flag=True, help="Keep what was found without asking.")
@format_option
@project_option
def command(  # noqa: PLR0913  each part of what is told has an option
    text: str,
    *,
    by: str,
    atoms: tuple[str, ...],
    goal: str,
    remark: str,
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
    refused is shown with the reason.

    Examples:
      constat facts tell "C009 has gold" --as "customer_tier(C009, gold)" --by eve --yes
      constat facts tell "C9 is gold" --as "customer_tier(C9, gold)" --by eve --yes --format json

    Exit codes: 0 kept, 4 nothing was kept, 2 bad usage, configuration or facts. With --then those
    of `prove`, with --draft those of `ask`.
    """
    with _telling(project, goal, draft) as (own, session):
        with watching() as observe, session.observing(observe):
            told = session.provide_facts(text, author=by, goal=goal, atoms=atoms)
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
    if result is not None:
        return result.exit_code
    return 0 if kept else 4


@contextmanager
def _telling(project: str | None, goal: str, draft: str) -> Iterator[tuple[Session, Session]]:
    """Give the project's session, and the one that knows the draft as well."""
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


def _show(told: Told) -> None:
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
    session: Session, told: Told, kept: tuple[StoredFact, ...], result: Result | None
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
