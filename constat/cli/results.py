"""Results as text and JSON, the same for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.cli.output import GREEN, RED, YELLOW, write, write_heading
from constat.diagnostics import counted
from constat.evaluation import NOT_ONE, Verdict
from constat.proof import render_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Assumption, Call
    from constat.session import Result
    from constat.store import StoredFact
    from constat.store.facts import Wording

# Keys of the JSON are only added, never renamed or removed, so that scripts keep working.


def result_json(result: Result, tree: object) -> dict[str, object]:
    """Give a verdict as JSON: numbers that count are numbers, exact decimals are texts."""
    return {
        "goal": result.goal,
        "verdict": result.verdict.value,
        "exit_code": result.exit_code,
        "confidence": f"{result.confidence:f}",
        "confidence_is_exact": result.exact,
        "created": result.created,
        "as_of": result.as_of,
        "snapshot": result.snapshot,
        "assumptions": [assumption_json(one) for one in result.assumptions],
        "missing": list(result.missing),
        "conflicts": list(result.conflicts),
        "proof": tree,
        "calls": [call_json(call) for call in result.calls],
        "logged": result.logged,
        "supersedes": result.supersedes,
    }


def assumption_json(assumption: Assumption) -> dict[str, object]:
    """Give one assumption."""
    return {
        "kind": assumption.kind,
        "subject": assumption.subject,
        "text": assumption.text,
        "confidence": f"{assumption.confidence:f}",
    }


def call_json(call: Call) -> dict[str, object]:
    """Give one demand that went outside."""
    names = [column.name for column in call.demand.predicate.columns]
    return {
        "number": call.number,
        "predicate": call.demand.predicate.name,
        "bound": [names[place] for place in call.demand.columns],
        "keys": len(call.demand.keys),
        "rows": _rows(call),
        "open": len(call.answer.openings),
        "unanswered": _unanswered(call),
        "milliseconds": round(call.seconds * 1000, 3),
    }


def calls_text(calls: Sequence[Call]) -> str:
    """List demands, one line each."""
    lines = [f"calls: {len(calls)}"]
    for call in calls:
        names = [column.name for column in call.demand.predicate.columns]
        bound = ", ".join(names[place] for place in call.demand.columns) or "everything"
        lines.append(
            f"  {call.number}. {call.demand.predicate.name} by {bound}: "
            f"{counted(len(call.demand.keys), 'key')}, {counted(_rows(call), 'row')}, "
            f"{len(call.answer.openings):,} open, {_unanswered(call):,} unanswered, "
            f"{call.seconds * 1000:.1f} ms"
        )
    return "\n".join(lines)


def _unanswered(call: Call) -> int:
    return sum(key not in call.answer.answered for key in call.demand.keys)


def stated_json(fact: StoredFact, shown: str) -> dict[str, object]:
    """Give a fact that somebody stated."""
    return {
        "id": fact.id,
        "fact": shown,
        "author": fact.author,
        "note": fact.note,
        "added_at": fact.added_at,
        "retracted_at": fact.retracted_at,
        "retracted_by": fact.retracted_by,
        "told": None if fact.told is None else told_json(fact.told),
    }


def told_json(told: Wording) -> dict[str, object]:
    """Give the words that say a fact."""
    return {
        "words": told.words,
        "document": told.hash,
        "start": told.start,
        "end": told.end,
        "tool": told.tool,
    }


def _rows(call: Call) -> int:
    answer = call.answer
    if not answer.portions and not call.demand.columns:
        # A whole relation was handed over without becoming values; its authority counted it.
        return sum(one.row_count for one in answer.authorities)
    return sum(len(portion.rows) for portion in answer.portions)


_MOST_CONFLICTS: Final = 8


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
