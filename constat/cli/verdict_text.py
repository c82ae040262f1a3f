"""A verdict and its proof as text for people.

In: a result. Out: the heading, in colour on a terminal, and the proof under it. Example:
`PROVED: is_vip(C001)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.cli.output import GREEN, RED, YELLOW, write, write_heading
from constat.cli.results import calls_text
from constat.evaluation import Verdict
from constat.proof import render_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.session import Result

_MOST_CONFLICTS: Final = 8
NOT_ONE: Final = "not one snapshot"


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
    shown = f"{result.verdict.label}: {goal or result.goal}{conflict_text(result.conflicts)}"
    write_heading(shown, _style(result.verdict))
    if result.verdict is not Verdict.UNRESOLVED:
        tell_snapshot(result.snapshot)


def tell_snapshot(snapshot: str | None) -> None:
    """Say that what was read is of no one state, where it is not."""
    if snapshot == NOT_ONE:
        write(not_one_text())


def not_one_text() -> str:
    """Say what that means."""
    return f"{NOT_ONE}: the sources were read one after the other, and may have changed between"


def tell_conflicts(conflicts: Sequence[str]) -> None:
    """Say that a fact which was stated meets another value for its key."""
    for text in conflicts[:_MOST_CONFLICTS]:
        write(f"conflict: {text}")
    if len(conflicts) > _MOST_CONFLICTS:
        write(f"and {len(conflicts) - _MOST_CONFLICTS:,} more conflicts")


def conflict_text(conflicts: Sequence[str]) -> str:
    """Say on a verdict's line who says another value for a key; JSON has all of them."""
    if not conflicts:
        return ""
    more = f", and {len(conflicts) - 1:,} more" if len(conflicts) > 1 else ""
    return f" (conflict: {conflicts[0]}{more})"


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
