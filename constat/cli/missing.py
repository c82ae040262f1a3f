"""`constat missing GOAL`: the cheapest sets of facts that would prove a goal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import click

from constat.cli.asking import asked, project_option
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import counted, write, write_json
from constat.cli.progress import watching
from constat.cli.verdict_text import print_verdict
from constat.session import Session

if TYPE_CHECKING:
    from constat.session.missing_facts import MissingFacts, MissingSet

_DECLARE: Final = """\
nothing that the goal rests on may be supposed; a predicate is made so by its declaration
  @[abducible(cost = 2)] @[removable(cost = 1)] .decl ...
or for once by --abducible NAME=COST and --removable NAME=COST"""


def _costs(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Read `NAME` or `NAME=COST`."""
    pairs = (one.partition("=") for one in given)
    return {name.strip(): cost.strip() if equals else "1" for name, equals, cost in pairs}


@click.command(name="missing", cls=PlainCommand)
@click.argument("goal")
@click.option(
    "--top-k",
    metavar="N",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Look for N sets, the cheapest first.",
)
@click.option(
    "--abducible",
    metavar="NAME[=COST]",
    multiple=True,
    callback=_costs,
    help="Facts of this predicate may be supposed; may be repeated.",
)
@click.option(
    "--removable",
    metavar="NAME[=COST]",
    multiple=True,
    callback=_costs,
    help="Facts of this predicate may be taken away; may be repeated.",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long sets are looked for.",
)
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    goal: str,
    *,
    top_k: int,
    abducible: dict[str, str],
    removable: dict[str, str],
    budget: float,
    form: str,
    project: str | None,
) -> int:
    """Find the cheapest sets of facts that would prove GOAL.

    Only facts that may be supposed or taken away are looked at: those of predicates declared
    `@[abducible(cost = 2)]` or `@[removable(cost = 1)]`, and those named here; a predicate that
    rules derive stands for the facts below it, negated ones turned round. Where a value is not
    forced there is a variable with its conditions, such as `?amount > 1,000`. Each set has been
    tried as `constat what-if` tries it, and no part of it is enough.

    Examples:
      constat missing "is_vip(C004)" --removable blocked
      constat missing "is_vip(C002)" --abducible placed_order --abducible customer_tier=2
      constat missing "is_vip(C002)" --abducible placed_order --format json
      constat missing "is_vip(C002)"        # exits with 5

    Exit codes: 0 a set was found or the goal holds, 5 there is none,
    4 none was found, but not everything was looked at, 2 bad usage.
    """
    with Session(project) as session, asked(session, goal=goal):
        with watching() as observe:
            found = session.missing_facts(
                goal,
                top=top_k,
                abducible=abducible,
                removable=removable,
                seconds=budget,
                observe=observe,
            )
        if form == "json":
            write_json({**_json(found), "models": session.model_usage})
        else:
            print_missing(found)
    return found.exit_code


def print_missing(found: MissingFacts) -> None:
    """Print the sets of facts that were found."""
    print_verdict(found.result)
    if found.holds:
        write("nothing is missing")
        return
    if not found.abducible:
        write(_DECLARE)
        write(f"it rests on: {', '.join(found.candidates)}")
    for place, one in enumerate(found.sets, start=1):
        _print_set(found, place, one)
    if found.abducible and not found.sets:
        none = "none: no set of such facts proves it, and every one was looked at"
        write(none if found.exhausted else "no set was found, and not everything was looked at")
    _print_bounds(found)


def _print_set(found: MissingFacts, place: int, one: MissingSet) -> None:
    write(f"{place}. cost {one.cost:f}: then {one.verdict.label}")
    for fact in one.add:
        conditions = f" with {' and '.join(fact.conditions)}" if fact.conditions else ""
        write(f"  add {fact.fact}{conditions}")
    for text in one.remove:
        write(f"  remove {text}")
    words = [*(f"--add {shlex.quote(fact.tried)}" for fact in one.add)]
    words += [f"--remove {shlex.quote(text)}" for text in one.remove]
    write(f"  tried: constat what-if {shlex.quote(found.goal)} {' '.join(words)}")


def _print_bounds(found: MissingFacts) -> None:
    if found.bound is not None:
        others = f"there may be others, at a cost of {found.bound:f} and more"
        write(f"{others}; the search stopped {found.stopped}")
    if found.dropped:
        tried = f"{counted(found.dropped, 'set')} did not prove it when tried"
        write(f"{tried}, with one choice of values each")
    for reason in found.unsolved:
        write(f"not looked for: {reason}")


def _json(found: MissingFacts) -> dict[str, object]:
    return {
        "goal": found.goal,
        "verdict": found.result.verdict.value,
        "exit_code": found.exit_code,
        "holds": found.holds,
        "sets": [_set_json(one) for one in found.sets],
        "others_from_cost": None if found.bound is None else f"{found.bound:f}",
        "exhausted": found.exhausted,
        "stopped": found.stopped,
        "dropped": found.dropped,
        "not_looked_for": list(found.unsolved),
        "abducible": {name: f"{cost:f}" for name, cost in found.abducible.added.items()},
        "removable": {name: f"{cost:f}" for name, cost in found.abducible.removed.items()},
        "rests_on": list(found.candidates),
        "missing": list(found.result.missing),
    }


def _set_json(one: MissingSet) -> dict[str, object]:
    return {
        "cost": f"{one.cost:f}",
        "verdict": one.verdict.value,
        "add": [
            {"fact": fact.fact, "conditions": list(fact.conditions), "tried": fact.tried}
            for fact in one.add
        ],
        "remove": list(one.remove),
    }
