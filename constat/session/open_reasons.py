"""Why a set of answers is open: what nobody answered, grouped and counted.

In: an outcome. Out: `OpenReason` values, the most frequent first. Invariant: only what no
assumption would close is named; each reason has one goal to ask for, which can be pasted back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN
from constat.session.answers import OpenReason
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import Call, Outcome
    from constat.logic import OpenRow, Predicate

_Group = tuple[str, str, str]


def open_reasons(outcome: Outcome) -> tuple[OpenReason, ...]:
    """Group what was left open while a goal was evaluated."""
    seen: dict[_Group, dict[str, None]] = {}
    for call in outcome.calls:
        predicate = call.demand.predicate
        for group, row in _gaps(call):
            seen.setdefault(group, {}).setdefault(print_row(predicate, row))
    for failure in outcome.failures:
        rule = outcome.program.rules[failure.rule]
        group = (rule.head.predicate, f"rule {rule.id}: {failure.reason}", "")
        shown = ", ".join(f"?{name} = {value}" for name, value in failure.bindings.items())
        seen.setdefault(group, {}).setdefault(shown)
    found = [
        OpenReason(predicate, reason, tier, len(goals), next(iter(goals)))
        for (predicate, reason, tier), goals in seen.items()
    ]
    if outcome.stopped not in {"", "settled"}:
        found.append(OpenReason(outcome.goal.predicate, outcome.stopped, "", 1, ""))
    return tuple(sorted(found, key=lambda one: (-one.count, one.predicate, one.reason)))


def _gaps(call: Call) -> Iterator[tuple[_Group, OpenRow]]:
    predicate = call.demand.predicate
    told = set()
    for opening in call.answer.openings:
        if opening.assumption is None:
            told.add(opening.row)
            yield (predicate.name, opening.reason, opening.tier), opening.row
    for key in call.demand.keys:
        row = _pattern(predicate, dict(zip(call.demand.columns, key, strict=True)))
        if key not in call.answer.answered and row not in told:
            yield (predicate.name, "no tier answered", ""), row


def _pattern(predicate: Predicate, known: dict[int, object]) -> OpenRow:
    return tuple(known.get(place, OPEN) for place in range(predicate.arity))  # type: ignore[misc]
