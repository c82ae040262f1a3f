"""`constat why-not GOAL`: how far each rule gets, what stops it there, and how far it is off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.cli.progress import watching
from constat.cli.results import assumption_json
from constat.cli.verdict_text import print_proof, print_verdict
from constat.proof import tree_to_json
from constat.proof.refutation_text import refutation_json
from constat.session import Session

if TYPE_CHECKING:
    from constat.session import Result
    from constat.session.why_not import WhyNotResult


@click.command(name="why-not", cls=PlainCommand)
@click.argument("goal")
@click.option("--reasons", is_flag=True, help="Rank the reason codes of what fails.")
@click.option(
    "--most-reasons",
    metavar="N",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="With --reasons: at most so many.",
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1, 1_000),
    default=40,
    show_default=True,
    help="Look into so many conclusions.",
)
@format_option
@project_option
def command(
    goal: str, *, reasons: bool, most_reasons: int, most: int, form: str, project: str | None
) -> int:
    """Say why GOAL does not hold.

    For each rule of the goal: the literal at which its nearest candidate stops, what is there, what
    would be needed and how far it is off, what fails besides, and on what the "no" rests; then the
    same for each conclusion that is lacking. Nothing has to be named but the goal. A goal that
    holds is shown with its proof, one that is open with what is missing.

    With --reasons the codes of `@[reasons = "-,R12"]` of the literals that fail are ranked: the
    nearest to holding first (a number by its distance as a share of both sides, a date by days, a
    text by edits; a row that is lacking or must not be there is farthest), ties in the order of
    rules and bodies.

    Examples:
      constat why-not "is_vip(C002)"               # exits with 5
      constat why-not "is_vip(C004)" --reasons     # exits with 5
      constat why-not "in_vip_group(C999)" --format json     # exits with 5
      constat why-not "is_vip(C001)"

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    """
    with Session(project) as session, asked(session, goal=goal):
        with watching() as observe:
            found = session.why_not(goal, most=most, observe=observe)
        wanted = most_reasons if reasons else 0
        if form == "json":
            write_json({**_json(found, wanted), "models": session.model_usage})
        else:
            print_why_not(found, wanted)
    return found.exit_code


def print_why_not(found: WhyNotResult, reasons: int) -> None:
    """Print why a goal does not hold; with so many ranked reasons."""
    result = found.result
    print_verdict(result)
    if found.refutation is None:
        print_proof(result)
        return
    write(_resting(result) + found.to_text(reasons=reasons).rstrip("\n"))
    if result.tree.stopped not in {"", "settled"}:
        write(f"evaluation stopped: {result.tree.stopped}")
    gaps = result.tree.gaps
    if gaps:
        write("missing (ask for one of these as a goal, or supply it as a fact):")
    for gap in gaps:
        write(f"  {gap.goal}\n    reason: {gap.reason}")
    if result.tree.gaps_left:
        write(f"  and {result.tree.gaps_left:,} more")


def _resting(result: Result) -> str:
    lines = [f"assuming: {one.text}" for one in result.assumptions]
    return "".join(f"{line}\n" for line in [*lines, ""])


def _json(found: WhyNotResult, reasons: int) -> dict[str, object]:
    result, refutation = found.result, found.refutation
    ranked = found.reasons(reasons) if reasons else ()
    return {
        "goal": result.goal,
        "verdict": result.verdict.value,
        "exit_code": result.exit_code,
        "created": result.created,
        "snapshot": result.snapshot,
        "assumptions": [assumption_json(one) for one in result.assumptions],
        "missing": list(result.missing),
        "proof": json.loads(tree_to_json(result.tree)) if refutation is None else None,
        "refutation": None if refutation is None else refutation_json(refutation, ranked),
        "reasons_left": found.reasons_left(reasons) if reasons else 0,
    }
