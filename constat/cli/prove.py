"""`constat prove GOAL`: the verdict, the proof, and a certificate of it.

The verdict is printed before the certificate is written, so a full disk never hides an answer.
"""

from __future__ import annotations

import json

import click

from constat.cli.asking import asked, project_option
from constat.cli.engines import OWN, engine_option, give_second_opinion, refuse_with_another
from constat.cli.files import write_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import GREEN, RED, YELLOW, note, write, write_heading, write_json
from constat.cli.progress import watching
from constat.cli.results import calls_text, result_json
from constat.evaluation import Verdict
from constat.proof import render_tree, tree_to_json
from constat.session import Result, Session


@click.command(name="prove", cls=PlainCommand)
@click.argument("goal")
@click.option("--all", "exhaust", is_flag=True, help="Look for better proofs after the first.")
@click.option("--lowest", is_flag=True, help="Show a proof of least height, of the best ones.")
@format_option
@click.option("--certificate", metavar="FILE", help="Write the certificate to FILE.")
@click.option("--trace-calls", is_flag=True, help="Print what was asked outside.")
@click.option("--depth", type=click.IntRange(min=0), help="Print the proof down to this depth.")
@click.option("--quiet", "-q", is_flag=True, help="Print the verdict only.")
@click.option("--keep", is_flag=True, help="Keep the certificate for `constat stale`.")
@click.option("--no-cache", "anew", is_flag=True, help="Ask all sources anew, and keep that.")
@engine_option
@project_option
def command(  # noqa: PLR0913  one argument for each option
    goal: str,
    *,
    exhaust: bool,
    lowest: bool,
    form: str,
    certificate: str | None,
    trace_calls: bool,
    depth: int | None,
    quiet: bool,
    keep: bool,
    anew: bool,
    engine: str,
    project: str | None,
) -> int:
    """Prove or disprove GOAL.

    A goal is a predicate with constants, or with variables such as ?c. Constants need no quotes
    unless they hold spaces or commas. Columns may be named.

    Examples:
      constat prove "is_vip(C001)"
      constat prove "is_vip(customer = C002)" --format json     # exits with 5
      constat prove "in_vip_group(C032)" --certificate c032.json
      constat prove "is_vip(C004)" --trace-calls --depth 2      # exits with 5
      constat prove "in_vip_group(C032)" --lowest
      constat prove "is_vip(C001)" --keep --no-cache
      constat prove "is_vip(C001)" --engine pydatalog

    Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved,
    5 disproved, 6 disproved under assumptions, 2 bad usage.
    With --engine pydatalog: 0 yes, 5 no, 4 no answer, 78 a construct that it lacks.
    """
    refuse_with_another(engine, "exhaust", "lowest", "certificate", "trace_calls", "depth", "keep")
    with Session(project, cache=not anew) as session, asked(session, goal=goal):
        if engine != OWN:
            return give_second_opinion(session, goal, form=form, quiet=quiet)
        with watching() as observe:
            result = session.prove(goal, exhaust=exhaust, lowest=lowest, observe=observe)
        if form == "json":
            write_json(result_json(result, json.loads(tree_to_json(result.tree))))
        else:
            print_result(result, depth=depth, quiet=quiet, trace_calls=trace_calls)
        told = _put_away(session, result, certificate, keep=keep)
        for line in () if quiet else told:
            note(line)
    return result.exit_code


def _put_away(session: Session, result: Result, file: str | None, *, keep: bool) -> list[str]:
    """Write and keep the certificate as asked for; give what to say of it."""
    told = []
    if file is not None:
        write_file(file, result.certificate)
        told.append(f"certificate written to {file}")
    if keep:
        told.append(f"certificate kept as {session.keep(result).name}")
    return told


def print_result(
    result: Result, *, depth: int | None = None, quiet: bool = False, trace_calls: bool = False
) -> None:
    """Print a verdict and its proof for people."""
    write_heading(f"{result.verdict.label}: {result.goal}", _style(result.verdict))
    if not quiet:
        # The rendered proof begins with a heading of its own.
        _, _, proof = render_tree(result.tree, depth=depth, moment=result.created).partition("\n")
        write(proof.rstrip("\n"))
    if trace_calls:
        write(calls_text(result.calls))


def _style(verdict: Verdict) -> str:
    match verdict:
        case Verdict.PROVED:
            return GREEN
        case Verdict.DISPROVED:
            return RED
        case _:
            return YELLOW
