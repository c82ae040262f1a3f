"""A verdict and its proof as text for people.

In: a result. Out: the heading, in colour on a terminal, and the proof under it. Example:
`PROVED: is_vip(C001)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.cli.output import GREEN, RED, YELLOW, write, write_heading
from constat.cli.results import calls_text
from constat.evaluation import Verdict
from constat.proof import render_tree

if TYPE_CHECKING:
    from constat.session import Result


def print_result(
    result: Result, *, depth: int | None = None, quiet: bool = False, trace_calls: bool = False
) -> None:
    """Print a verdict and its proof."""
    print_verdict(result)
    if not quiet:
        print_proof(result, depth=depth)
    if trace_calls:
        write(calls_text(result.calls))


def print_verdict(result: Result, goal: str = "") -> None:
    """Print the verdict, on the goal of the result or the one it is an instance of."""
    write_heading(f"{result.verdict.label}: {goal or result.goal}", _style(result.verdict))


def print_proof(result: Result, *, depth: int | None = None) -> None:
    """Print the proof below the verdict."""
    # The rendered proof begins with a heading of its own.
    _, _, proof = render_tree(result.tree, depth=depth, moment=result.created).partition("\n")
    write(proof.rstrip("\n"))


def _style(verdict: Verdict) -> str:
    match verdict:
        case Verdict.PROVED:
            return GREEN
        case Verdict.DISPROVED:
            return RED
        case _:
            return YELLOW
