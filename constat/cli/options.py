"""Options that several commands share, and how the mistakes of a project are shown."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from constat.cli.output import (
    GREEN,
    RED,
    YELLOW,
    note,
    read_file,
    show_error,
    write,
    write_heading,
    write_json,
)
from constat.cli.progress import watching
from constat.diagnostics import ConstatError, Severity, counted, render
from constat.frozen import frozen
from constat.logic.locales import LOCALES
from constat.session.options import LogAs
from constat.session.spelling import shown_goal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.pydatalog import AnswerSet
    from constat.session import Result, Session

# `constat.yaml` is never quoted, because it may hold a password.

project_option = click.option(
    "--project",
    metavar="DIR",
    envvar="CONSTAT_PROJECT",
    help="The project; by default the one that this folder is in.",
)


STDIN: Final = "-"
_MOST_GIVEN: Final = 256 << 20


@contextmanager
def files_given(names: Sequence[str]) -> Iterator[list[Path]]:
    """Give the files that were named; where one is `-`, a file `stdin` with what stdin holds."""
    if STDIN not in names:
        yield [Path(one) for one in names]
        return
    from constat.store.replacing import Scratch  # noqa: PLC0415  loaded when it is used

    with Scratch() as scratch:
        place = scratch.path / "stdin"
        # Whoever reads the file refuses what is longer than it bears.
        place.write_bytes(read_file(STDIN, _MOST_GIVEN))
        yield [place if one == STDIN else Path(one) for one in names]


@contextmanager
def asked(
    session: Session, *, goal: str = "", fact: str = "", typed: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Show the mistakes found while a session answers, then leave with their exit code.

    `typed` are further texts of the command line, by the names that diagnostics use.
    """
    try:
        yield
    except ConstatError as problem:
        # The root's object tells whether JSON was asked for; see `entry`.
        as_json = bool(click.get_current_context().find_root().obj)
        problem = _of_left_out(session, _of_drafts(session, problem), goal)
        texts = {**session.texts, "<goal>": goal, "<fact>": fact, **(typed or {})}
        show_error(problem, texts, as_json=as_json, models=session.model_usage)
        if not as_json:
            # What was asked in vain was paid for as well.
            _note_models(session)
        raise click.exceptions.Exit(problem.exit_code) from None
    _note_models(session)


def _of_drafts(session: Session, problem: ConstatError) -> ConstatError:
    """Name the draft that waits, where a goal asks for what only that defines."""
    if not any(one.code == "C0181" for one in problem.diagnostics):
        return problem
    from constat.session.drafted import told_of_drafts  # noqa: PLC0415  loaded when it is used

    told: ConstatError = told_of_drafts(problem, session.drafts.list)
    return told


def _of_left_out(session: Session, problem: ConstatError, goal: str) -> ConstatError:
    """Show the mistakes of rules where a goal asks for what rests on them, and so is not there."""
    left = session.left_out
    if left is None or left.predicates.isdisjoint(re.findall(r"(\w+)\s*(?:\(|\Z)", goal)):
        return problem
    return ConstatError(left.errors)


@contextmanager
def asked_apart(session: Session, goal: str) -> Iterator[None]:
    """Answer a goal that rests on no rule with a mistake, and show such mistakes behind it."""
    with asked(session, goal=goal):
        session.leave_out_mistakes()
        yield
        note_left_out(session)


def note_left_out(session: Session) -> None:
    """Show the mistakes in rules on which nothing rests that was asked for."""
    left = session.left_out
    if left is None:
        return
    names = ", ".join(f"`{name}`" for name in sorted(left.predicates)[:_MOST_NAMED])
    more = len(left.predicates) - _MOST_NAMED
    names += f" and {more} more" if more > 0 else ""
    warnings = [replace(one, severity=Severity.WARNING) for one in left.errors]
    note(render(warnings, session.texts, colour=False).rstrip("\n"))
    rest = "rests on it" if len(left.errors) == 1 else "rests on them"
    note(f"left out is what {rest}: {names}; nothing that was asked for does")


_MOST_NAMED: Final = 5


def _note_models(session: Session) -> None:
    """Say what models have used, whose replies were replayed, and what went wrong besides."""
    for line in session.model_notes:
        note(line)
    if session.warnings:
        note(render(session.warnings, {}, colour=False).rstrip("\n"))


def note_warned(session: Session) -> None:
    """Say once that the rules have warnings, and how they are read."""
    note_left_out(session)
    found = session.rule_warnings
    if found:
        files = " ".join(shlex.quote(os.path.relpath(one)) for one in session.project.rules)
        note(f"{counted(len(found), 'warning')} in the rules: `constat rules check {files}`")


def note_unmet(session: Session, asked: Result | str) -> None:
    """Name what is near a constant that no source has, where a goal does not hold."""
    for line in session.unmet_constants(asked):
        note(f"note: {line}")


locale_option = click.option(
    "--locale",
    metavar="LOCALE",
    type=click.Choice([one.name for one in LOCALES]),
    help="How sentences write numbers and days, and in which language: de_DE, en_GB, ...",
)


_OPTIONS = (
    click.option("--log", is_flag=True, help="Write the decision down in the project's log."),
    click.option("--by", metavar="NAME", help="Who asks, or decides; in the log by default you."),
    click.option("--retention", metavar="CLASS", help="With the log: how long it is kept."),
    click.option(
        "--supersedes",
        metavar="ENTRY",
        help="With the log: the earlier decision that this one takes the place of.",
    ),
)


def log_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `log`, a `LogAs` or `None`."""

    @wraps(command)
    def packed(
        *arguments: object,
        log: bool,
        by: str | None,
        retention: str | None,
        supersedes: str | None,
        **options: Any,  # noqa: ANN401  whatever the command takes
    ) -> int:
        given = log or any(one is not None for one in (by, retention, supersedes))
        logging = LogAs(by, retention, supersedes, asked=log) if given else None
        return command(*arguments, log=logging, **options)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


# Without an option the rules of the project count, unapproved ones as assumptions.


@frozen
class RulesThatCount:
    """Drafts that join, or only what is approved."""

    drafts: tuple[str, ...] = ()
    approved_only: bool = False


_DRAFT_OPTIONS = (
    click.option(
        "--draft",
        "drafts",
        metavar="ID",
        multiple=True,
        help="Let a draft of the quarantine join; may be given twice.",
    ),
    click.option(
        "--require-approved", is_flag=True, help="Let no rule count that nobody has approved."
    ),
)


def draft_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets `counting`, a `RulesThatCount`."""

    @wraps(command)
    def packed(
        *arguments: object,
        drafts: tuple[str, ...],
        require_approved: bool,
        **options: Any,  # noqa: ANN401  whatever the command takes
    ) -> int:
        if drafts and require_approved:
            message = "--draft lets in what nobody approved; leave --require-approved out"
            raise click.UsageError(message)
        counting = RulesThatCount(drafts, require_approved)
        return command(*arguments, counting=counting, **options)

    for option in reversed(_DRAFT_OPTIONS):
        packed = option(packed)
    return packed


@contextmanager
def answering(own: Session, counting: RulesThatCount, goal: str) -> Iterator[Session]:
    """Give the session that answers, and show mistakes; what is said of drafts goes to stderr."""
    with own, asked(own, goal=goal):
        if not (counting.approved_only or counting.drafts):
            own.leave_out_mistakes()
            yield own
            return
        other = own.approved_only() if counting.approved_only else own.with_drafts(counting.drafts)
        with other, asked(other, goal=goal):
            _note_joined(other)
            yield other


def _note_joined(session: Session) -> None:
    joined = session.joined
    if joined is None:
        return
    for name in joined.amended:
        note(f"a draft adds rules for {name}, which has rules or rows already")
    for name in joined.dropped:
        note(f"a draft takes the place of rule {name}")
    for line in joined.notes:
        note(line)


def note_unapproved(result: Result) -> None:
    """Say which rules would decide a goal if somebody approved them."""
    for rule in result.unapproved:
        note(
            f"rule {rule} would decide this, and nobody has approved it: "
            f"`constat rules review {rule}`"
        )


# `--engine`: who answers a goal, and what is printed when it is not Constat itself.

OWN: Final = "constat"
_YES, _NO, _NO_ANSWER = 0, 5, 4

engine_option = click.option(
    "--engine",
    type=click.Choice((OWN, "pydatalog")),
    default=OWN,
    show_default=True,
    help="Who answers; pydatalog is a second opinion without a certificate.",
)


def refuse_with_another(engine: str, *needing_proofs: str) -> None:
    """Raise a usage error where a parameter that needs proofs was given on the command line."""
    context = click.get_current_context()
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in needing_proofs
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if engine != OWN and given:
        raise click.UsageError(
            f"{' and '.join(given)} cannot be used with --engine {engine}, "
            "which has no proofs, verdicts and certificates"
        )


def give_second_opinion(session: Session, goal: str, *, form: str, quiet: bool) -> int:
    """Ask pyDatalog and print what it says; give the exit code."""
    with watching() as observe:
        found = session.second_opinion(goal, observe=observe)
    shown = shown_goal(session.program.program.predicates[found.goal.predicate], found.goal)
    code = {True: _YES, False: _NO, None: _NO_ANSWER}[found.holds]
    if form == "json":
        write_json(_as_json(found, shown, code))
        return code
    word, colour = {_YES: ("YES", GREEN), _NO: ("NO", RED)}.get(code, ("NO ANSWER", YELLOW))
    write_heading(f"{word}: {shown}", colour)
    if not quiet:
        write("\n".join(_told(found)))
    return code


def _told(found: AnswerSet) -> list[str]:
    lines = ["by pyDatalog, without a certificate"]
    if found.stopped:
        lines.insert(0, f"{found.stopped}; this is not a no")
    elif len(found.rows) > 1:
        lines.insert(0, f"{len(found.rows):,} rows match")
    return lines


def _as_json(found: AnswerSet, shown: str, code: int) -> dict[str, object]:
    return {
        "goal": shown,
        "engine": "pydatalog",
        "answer": {_YES: "yes", _NO: "no"}.get(code, "none"),
        "exit_code": code,
        "rows": None if found.stopped else len(found.rows),
        "reason": found.stopped,
    }
