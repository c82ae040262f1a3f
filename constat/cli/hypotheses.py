"""`constat why-not`, `what-if` and `missing`: why a goal fails, and what would change it."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import (
    asked,
    asked_apart,
    files_given,
    locale_option,
    note_unmet,
    project_option,
)
from constat.cli.output import YELLOW, note, write, write_certificate, write_heading, write_json
from constat.cli.progress import watching
from constat.cli.results import (
    assumption_json,
    conflict_text,
    print_proof,
    print_verdict,
    tell_snapshot,
)
from constat.diagnostics import counted
from constat.proof import tree_to_json
from constat.proof.refutation_text import refutation_json
from constat.proof.render import CONTESTED_ROWS
from constat.session import Session
from constat.session.suppositions import Suppositions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.proof.changes import Change
    from constat.proof.tree import GapShown
    from constat.session import Result
    from constat.session.counterfactuals import Counterfactuals
    from constat.session.hypotheses import MissingFacts, MissingSet, WhatIf, WhyNotResult


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
    "--counterfactuals",
    is_flag=True,
    help="Find small changes of rows after which it would hold; each is tried by what-if.",
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1, 1_000),
    default=40,
    show_default=True,
    help="Look into so many conclusions.",
)
@locale_option
@format_option
@project_option
def why_not_command(  # noqa: PLR0913  one for each option
    goal: str,
    *,
    reasons: bool,
    most_reasons: int,
    counterfactuals: bool,
    most: int,
    locale: str | None,
    form: str,
    project: str | None,
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

    With --counterfactuals rows of sources that the "no" shows are changed in thought: a number by
    what is lacking, a row taken away. What is listed was confirmed by `constat what-if`; there may
    be more (`constat missing` looks for facts).

    Examples:
      constat why-not "is_vip(C002)"               # exits with 5
      constat why-not "is_vip(C004)" --reasons     # exits with 5
      constat why-not "in_vip_group(C999)" --format json     # exits with 5
      constat why-not "is_vip(C001)"

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    """
    with Session(project, locale=locale) as session, asked_apart(session, goal):
        with watching() as observe:
            found = session.why_not(goal, most=most, observe=observe)
            changes = session.counterfactuals(found) if counterfactuals else None
        told = {"counterfactuals": _counterfactuals_json(changes), "models": session.model_usage}
        if form == "json":
            write_json({**_json(found, most_reasons * reasons), **told})
        else:
            print_why_not(found, most_reasons * reasons)
            _print_counterfactuals(changes)
            note_unmet(session, found.result)
    return found.exit_code


def _counterfactuals_json(changes: Counterfactuals | None) -> dict[str, object] | None:
    if changes is None:
        return None
    return {
        "found": [{**asdict(one), "verdict": one.verdict.value} for one in changes.found],
        "tried": changes.tried,
        "stopped": changes.stopped,
    }


def _print_counterfactuals(changes: Counterfactuals | None) -> None:
    if changes is None:
        return
    write("what would have changed it (each tried by `constat what-if`):")
    for number, one in enumerate(changes.found, start=1):
        write(f"  {number}. {one.text}: then {one.verdict.label}")
    if not changes.found:
        write(f"  none of {changes.tried} changes that were tried")
    if changes.stopped:
        write("  not all changes were tried")


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
    stated = [gap for gap in gaps if not gap.contested]
    _write_gaps("missing (ask for one of these as a goal, or supply it as a fact):", stated)
    _write_gaps(CONTESTED_ROWS, [gap for gap in gaps if gap.contested])
    _write_edits(gaps)
    if result.tree.gaps_left:
        write(f"  and {result.tree.gaps_left:,} more")


def _write_gaps(title: str, gaps: Sequence[GapShown]) -> None:
    if gaps:
        write(title)
    for gap in gaps:
        write(f"  {gap.goal}\n    reason: {gap.reason}")


def _write_edits(gaps: Sequence[GapShown]) -> None:
    """Write which declarations decide what null cells leave open."""
    for edit in dict.fromkeys(gap.edit for gap in gaps if gap.edit):
        write(f"  help: {edit}")


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


def _settings(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Read `NAME=VALUE`, or a row; two values of a name are a mistake."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if "(" in name:
            name, equals, value = one, "=", ""
        if not equals or not name.strip():
            message = f"{one!r} is not NAME=VALUE"
            raise click.BadParameter(message)
        if found.setdefault(name.strip(), value) != value:
            message = f"{name.strip()!r} is given two values"
            raise click.BadParameter(message)
    return found


@click.command(name="what-if", cls=PlainCommand)
@click.argument("goal")
@click.option("--add", metavar="FACT", multiple=True, help="Suppose a fact; may be repeated.")
@click.option(
    "--remove",
    metavar="FACT",
    multiple=True,
    help="Hide rows; a variable stands for any value; may be repeated.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_settings,
    help="Suppose another value of the configuration, or a whole row in place of the one with its"
    " key, 'orders(id = 7, amount = 5)'; may be repeated.",
)
@click.option(
    "--rules",
    metavar="FILE",
    multiple=True,
    help="Suppose the rules of a file, - for stdin; may be repeated.",
)
@click.option("--query", is_flag=True, help="GOAL is a conjunction, as in `constat query`.")
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the verdicts only.")
@format_option
@project_option
def what_if_command(  # noqa: PLR0913  one argument for each option
    goal: str,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    settings: dict[str, str],
    rules: tuple[str, ...],
    query: bool,
    certificate: str | None,
    depth: int | None,
    quiet: bool,
    form: str,
    project: str | None,
) -> int:
    """Answer GOAL as if facts, values or rules were others.

    The supposed world is written nowhere. Each supposition that the answer needs is an assumption,
    of its certificate too, so it can never be taken for the answer of the real world. Printed are
    both verdicts, the conclusions of the goal's rules that differ (rows that appear, vanish or have
    another value; of a goal with variables all), and the supposed proof of at most 1,000 rows.

    What rules derive is not set. A rule of --rules takes the place of the one with its `@[id]`, or
    is added; a file with the name of one of the project's rule files takes that file's place.

    Examples:
      constat what-if "is_vip(C004)" --remove "blocked(C004)"       # exits with 3
      constat what-if "is_vip(C002)" --set vip_threshold=50000      # exits with 3
      constat what-if "is_vip(?c)" --set vip_threshold=140000 --quiet
      constat what-if "is_vip(C002)" --add "customer_tier(C002, gold)" --format json  # exits with 3

    Exit codes: those of the supposed answer: 0 proved without a supposition, 3 proved under
    assumptions, 4 unresolved, 5 disproved without one, 6 disproved under them, 2 bad usage.
    """
    typed = Suppositions(add, remove, tuple(settings.items())).places()
    with Session(project) as session, asked(session, goal=goal, typed=typed):
        with watching() as observe, files_given(rules) as files:
            supposed: Any = {"add": add, "remove": remove, "settings": settings, "rules": files}
            found = session.what_if(goal, **supposed, query=query, observe=observe)
        try:
            if certificate is not None:
                write_certificate(certificate, found.certificate)
        finally:
            if form == "json":
                write_json({**_what_json(found), "models": session.model_usage})
            else:
                print_both(found, depth=depth, quiet=quiet)
                note_unmet(session, found.after)
        if certificate:
            note(f"certificate of the supposed answer written to {certificate}")
    return found.exit_code


def print_both(found: WhatIf, *, depth: int | None, quiet: bool) -> None:
    """Print both verdicts, what differs, and the supposed proof."""
    told = conflict_text(found.after.conflicts)
    write_heading(f"WHAT IF: {found.verdict.label}: {found.goal}{told}", YELLOW)
    tell_snapshot(found.after.snapshot)
    write(f"as it is: {found.before.verdict.label}")
    for text in found.supposed:
        write(f"  {text}")
    for text in found.without_effect:
        note(f"without effect here: {text}")
    _print_changes(found)
    if not quiet:
        write("")
        print_proof(found.after, depth=depth)
        if found.left_out:
            rows = counted(found.left_out, "row")
            note(f"{rows} more of the goal hold and are not proved here; `constat query` lists all")


def _print_changes(found: WhatIf) -> None:
    if found.stopped and not found.changes:
        write(f"conclusions were not compared: {found.stopped}")
        return
    if not found.changes:
        write("no conclusion differs")
    else:
        write("conclusions that differ:")
    for change in found.changes:
        write(f"  {_shown(change)}")
    if found.uncompared:
        write(f"  and {counted(found.uncompared, 'row')} that could not be compared")


def _shown(change: Change) -> str:
    if change.kind == "changed":
        return f"changed: {change.before} became {change.after}"
    if change.kind == "became unknown":
        return f"became unknown: {change.before or f'{change.after}, which did not hold'}"
    if change.kind == "became known":
        return f"became known: {change.after or f'{change.before} does not hold'}"
    return f"{change.kind}: {change.after or change.before}"


def _what_json(found: WhatIf) -> dict[str, object]:
    before, after = found.before, found.after
    return {
        "hypothetical": True,
        "goal": found.goal,
        "supposed": list(found.supposed),
        "without_effect": list(found.without_effect),
        "verdict": after.verdict.value,
        "exit_code": after.exit_code,
        "confidence": f"{after.confidence:f}",
        "confidence_is_exact": after.exact,
        "created": after.created,
        "snapshot": after.snapshot,
        "assumptions": [assumption_json(one) for one in after.assumptions],
        "missing": list(after.missing),
        "conflicts": list(after.conflicts),
        "before": {
            "verdict": before.verdict.value,
            "exit_code": before.exit_code,
            "confidence": f"{before.confidence:f}",
        },
        "changes": [
            {
                "kind": one.kind,
                "predicate": one.predicate,
                "before": one.before or None,
                "after": one.after or None,
            }
            for one in found.changes
        ],
        "uncompared": found.uncompared,
        "left_out": found.left_out,
        "stopped": found.stopped,
        "proof": json.loads(tree_to_json(after.tree)),
    }


_ONE: Final = Decimal(1)
_ALLOW: Final = """\
which facts would prove it is looked for among relations that you allow, and none is allowed:"""
_FOR_GOOD: Final = """\
leave out what cannot be otherwise; or, for good, write `@[abducible(cost = 2)]` or
`@[removable(cost = 1)]` before a `.decl`"""
_NONE_FINDS: Final = """\
no facts were found that prove it, were they added or taken away; what stops it:
  constat why-not {goal}"""
_SECONDS_TO_TRY: Final = 5.0

_Search: TypeAlias = "Callable[..., MissingFacts]"
"""Looks for what is missing where other facts are allowed."""
_WRITTEN: Final = """\
all facts that it rests on stand in rule files, and none of them is looked for; try others by
  constat what-if {goal} --rules FILE"""


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
def missing_command(  # noqa: PLR0913  one argument for each option
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

    Exit codes: 0 a set was found or the goal holds, 5 there is none and the goal does not hold,
    4 the goal is open or not everything was looked at, 2 bad usage.
    """
    with Session(project) as session, asked_apart(session, goal):
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
            write_json({**_missing_json(found), "models": session.model_usage})
        else:
            seconds = min(budget, _SECONDS_TO_TRY)
            print_missing(found, partial(session.missing_facts, goal, top=1, seconds=seconds))
            note_unmet(session, found.result)
    return found.exit_code


def print_missing(found: MissingFacts, search: _Search) -> None:
    """Print the sets of facts that were found, and what a `search` finds for more options."""
    print_verdict(found.result)
    if found.holds:
        write("nothing is missing")
        return
    gaps = found.result.tree.gaps
    if found.result.missing and not found.sets:
        contested = [gap.goal for gap in gaps if gap.contested]
        _write_goals(
            "it is open; what is not known may decide it:", found.result.missing, contested
        )
        _write_goals(CONTESTED_ROWS, contested, ())
        _write_edits(gaps)
    if gaps and all(gap.contested for gap in gaps):
        return
    if not found.abducible:
        _write_allowed(found, search)
    for place, one in enumerate(found.sets, start=1):
        _print_set(found, place, one)
    if found.abducible and not found.sets:
        none = "none: no set of such facts proves it, and every one was looked at"
        write(none if found.exhausted else "no set was found, and not everything was looked at")
        other = next(_finding(found, search), None)
        if other is not None:
            _write_found("other facts than those allowed do, for example by", found, *other)
        else:
            write(f"what stops it: constat why-not {shlex.quote(found.goal)}")
    _print_bounds(found)


def _write_allowed(found: MissingFacts, search: _Search) -> None:
    """Say how relations are allowed: by a command that has been tried and finds something."""
    if not found.candidates:
        write(_WRITTEN.format(goal=shlex.quote(found.goal)))
        return
    other = next(_finding(found, search), None)
    if other is not None:
        _write_found(_ALLOW, found, *other)
        write(_FOR_GOOD)
    else:
        write(_NONE_FINDS.format(goal=shlex.quote(found.goal)))
    write(f"it rests on: {', '.join(found.candidates)}")


def _write_found(title: str, found: MissingFacts, options: str, other: MissingFacts) -> None:
    write(title)
    write(f"  constat missing {shlex.quote(found.goal)}{options}")
    first = other.sets[0]
    told = [f"add {fact.fact}" for fact in first.add]
    told += [f"remove {text}" for text in first.remove]
    write(f"  which finds: {', '.join(told)}")


def _finding(found: MissingFacts, search: _Search) -> Iterator[tuple[str, MissingFacts]]:
    """Try what may be allowed, and give the options under which something is found."""
    added = dict.fromkeys((one for one in found.candidates if one not in found.below), _ONE)
    removed = dict.fromkeys((one for one in found.candidates if one in found.below), _ONE)
    every = dict.fromkeys(found.candidates, _ONE)
    given = found.abducible
    tried = [(given.added, given.removed)]
    for more, less in ((added, removed), (every, every)):
        allowed = ({**more, **given.added}, {**less, **given.removed})
        if allowed in tried:
            continue
        tried.append(allowed)
        other = _searched(search, *allowed)
        if not other.sets:
            continue
        used = _used(other.sets[0])
        least = tuple(
            {name: cost for name, cost in one.items() if name in named or name in own}
            for one, named, own in zip(allowed, used, (given.added, given.removed), strict=True)
        )
        # Beside what somebody allows only what is needed is named.
        narrow = _searched(search, *least) if given and least != allowed else other
        yield (_options(*least), narrow) if given and narrow.sets else (_options(*allowed), other)


def _searched(
    search: _Search, added: Mapping[str, Decimal], removed: Mapping[str, Decimal]
) -> MissingFacts:
    costs = [{name: f"{cost:f}" for name, cost in one.items()} for one in (added, removed)]
    return search(abducible=costs[0], removable=costs[1])


def _used(found: MissingSet) -> tuple[set[str], set[str]]:
    """Name the relations that a set adds to, and those that it takes away from."""
    added = {one.fact.partition("(")[0] for one in found.add}
    return added, {text.partition("(")[0] for text in found.remove}


def _options(added: Mapping[str, Decimal], removed: Mapping[str, Decimal]) -> str:
    """Write the options that allow facts to be added and taken away, with what each costs."""
    text = ""
    for option, costs in (("--abducible", added), ("--removable", removed)):
        for name, cost in costs.items():
            text += f" {option} {name}" + ("" if cost == _ONE else f"={cost:f}")
    return text


def _write_goals(title: str, goals: Sequence[str], without: Sequence[str]) -> None:
    shown = [goal for goal in goals if goal not in without]
    if shown:
        write(title)
    for goal in shown:
        write(f"  {goal}")


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


def _missing_json(found: MissingFacts) -> dict[str, object]:
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
