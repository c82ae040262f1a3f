"""`--engine`: who answers a goal, and what is printed when it is not Constat itself.

In: a session and a goal. Out: yes, no or no answer on stdout, and the exit code of `prove` for it.
Invariant: another engine's word is never shown as a verdict: it has no certificate. Example:
`constat prove --engine pydatalog "is_vip(C001)"` prints `YES: is_vip(C001)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from constat.cli.output import GREEN, RED, YELLOW, write, write_heading, write_json
from constat.cli.progress import watching
from constat.session.spelling import shown_goal

if TYPE_CHECKING:
    from constat.pydatalog import AnswerSet
    from constat.session import Session

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
