"""`constat prove GOAL`: the verdict, the proof, and a certificate of it.

The verdict is printed before the certificate is written, so a full disk never hides an answer.
"""

from __future__ import annotations

import json

import click

from constat.cli.asking import asked, project_option
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand
from constat.cli.output import GREEN, RED, YELLOW, note, write, write_heading, write_json
from constat.cli.progress import watching
from constat.cli.results import calls_text, result_json
from constat.evaluation import Verdict
from constat.proof import render_tree, tree_to_json
from constat.session import Result, Session


@click.command(name="prove", cls=PlainCommand)
@click.argument("goal")
@click.option("--all", "exhaust", is_flag=True, help="Look for better proofs after the first.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How to print the result.",
)
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--trace-calls", is_flag=True, help="Print what was asked outside.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the verdict only.")
@project_option
def command(  # noqa: PLR0913  one argument for each option
    goal: str,
    *,
    exhaust: bool,
    form: str,
    certificate: str | None,
    trace_calls: bool,
    depth: int | None,
    quiet: bool,
    project: str | None,
) -> int:
    """Prove or disprove GOAL.

    A goal is a predicate with constants, or with variables such as ?c. Constants need no quotes
    unless they hold spaces or commas. Columns may be named.

    Examples:
      constat prove "is_vip(C001)"
      constat prove "is_vip(customer = C002)" --format json
      constat prove "in_vip_group(C032)" --certificate c032.json
      constat prove "is_vip(C004)" --trace-calls --depth 2

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    """
    with Session(project) as session, asked(session, goal=goal):
        with watching() as observe:
            result = session.prove(goal, exhaust=exhaust, observe=observe)
        if form == "json":
            write_json(result_json(result, json.loads(tree_to_json(result.tree))))
        else:
            _print(result, depth=depth, quiet=quiet)
            if trace_calls:
                write(calls_text(result.calls))
        if certificate is not None:
            write_file(certificate, result.certificate)
            if not quiet:
                note(f"certificate written to {certificate}")
    return result.exit_code


def _print(result: Result, *, depth: int | None, quiet: bool) -> None:
    write_heading(f"{result.verdict.label}: {result.goal}", _style(result.verdict))
    if not quiet:
        # The rendered proof begins with a heading of its own.
        _, _, proof = render_tree(result.tree, depth=depth).partition("\n")
        write(proof.rstrip("\n"))


def _style(verdict: Verdict) -> str:
    match verdict:
        case Verdict.PROVED:
            return GREEN
        case Verdict.DISPROVED:
            return RED
        case _:
            return YELLOW
