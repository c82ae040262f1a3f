"""`constat what-if GOAL`: the answer in a supposed world, and the conclusions that differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import YELLOW, counted, note, write, write_heading, write_json
from constat.cli.progress import watching
from constat.cli.results import assumption_json
from constat.cli.verdict_text import conflict_text, print_proof, tell_snapshot
from constat.proof import tree_to_json
from constat.session import Session
from constat.session.suppositions import Suppositions

if TYPE_CHECKING:
    from constat.proof.changes import Change
    from constat.session.what_if import WhatIf


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
    help="Suppose another value of the configuration, or another row for its key; may be repeated.",
)
@click.option(
    "--rules",
    metavar="FILE",
    multiple=True,
    help="Suppose the rules of a file; may be repeated.",
)
@click.option("--query", is_flag=True, help="GOAL is a conjunction, as in `constat query`.")
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the verdicts only.")
@format_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
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
    another value; of a goal with variables all rows that differ), and the supposed proof.

    A rule of --rules takes the place of the one with its `@[id]`, or is added; a file with the name
    of one of the project's rule files takes that file's place.

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
        with watching() as observe:
            supposed: Any = {"add": add, "remove": remove, "settings": settings, "rules": rules}
            found = session.what_if(goal, **supposed, query=query, observe=observe)
        try:
            if certificate is not None:
                write_file(certificate, found.certificate)
        finally:
            if form == "json":
                write_json({**_json(found), "models": session.model_usage})
            else:
                print_both(found, depth=depth, quiet=quiet)
        if certificate is not None:
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


def _print_changes(found: WhatIf) -> None:
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
        return f"became unknown: {change.predicate} {change.before}".rstrip()
    return f"{change.kind}: {change.after or change.before}"


def _json(found: WhatIf) -> dict[str, object]:
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
        "proof": json.loads(tree_to_json(after.tree)),
    }
