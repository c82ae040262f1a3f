"""How large a recursive relation becomes, and in how many rounds.

In: a stage whose base is estimated. Out: its estimated rows, and the rounds. The growth of one
round is estimated from the recursive rules; it goes on until the domain is full: the product of
the distinct values of the columns. Invariant: an estimate for a choice, never a bound. Example: a
chain of 2,000 edges grows by a factor of one, so it takes about 1,000 rounds to half its domain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from constat.plan.forward.estimates import MOST_ROWS, Bindings, follow, head_values

if TYPE_CHECKING:
    from constat.plan.forward.draft import Draft, StageDraft

_FILLED = 0.5
_MOST_ROUNDS = 1e7
_FADING = 0.95
_STEADY = 1.05


def grow(draft: Draft, stage: StageDraft) -> float:
    """Estimate a stage in place; give its rounds."""
    names = stage.component.predicates
    if not stage.recursive:
        return 1.0
    _spread_domains(draft, stage)
    start = max(1.0, sum(draft.estimates.rows(name) for name in names))
    growth = _one_round(draft, stage) / start
    room = {name: domain(draft, name) for name in names}
    most = min(sum(room.values()), MOST_ROWS)
    if growth < _FADING:
        total = min(start / (1 - growth), most)
        rounds = math.log(start + 1) / -math.log(max(growth, 1e-3)) + 1
    else:
        total = max(start, most * _FILLED)
        rounds = _rounds(start, total, growth, linear=stage.linear)
    for name in names:
        share = total * room[name] / max(sum(room.values()), 1.0)
        draft.estimates.counts[name] = max(draft.estimates.rows(name), min(share, MOST_ROWS))
    return min(max(rounds, 1.0), _MOST_ROUNDS)


def domain(draft: Draft, name: str) -> float:
    """How many rows a relation can have: the product of its columns' distinct values."""
    arity = draft.program.program.predicates[name].arity
    found = math.prod(draft.estimates.distinct(name, column) for column in range(arity))
    return min(found, MOST_ROWS)


def _rounds(start: float, total: float, growth: float, *, linear: bool) -> float:
    if not linear:
        return math.log2(max(total / start, 1.0)) + 2
    if growth <= _STEADY:
        return total / start
    return math.log(1 + total / start * (growth - 1)) / math.log(growth) + 1


def _one_round(draft: Draft, stage: StageDraft) -> float:
    made = 0.0
    for pipeline in stage.recursive:
        counts, _ = follow(pipeline.plan, draft.estimates)
        made += counts[-1] if counts else 1.0
    return made


def _spread_domains(draft: Draft, stage: StageDraft) -> None:
    """Let the values that recursive rules bring into a column count, without adding rows."""
    estimates = draft.estimates
    for name in stage.component.predicates:
        estimates.counts[name] = max(1.0, estimates.rows(name))
    for _ in range(2):
        for pipeline in stage.recursive:
            _, bindings = follow(pipeline.plan, estimates)
            roomy = Bindings(MOST_ROWS, bindings.values)
            for column, found in enumerate(head_values(pipeline.plan, roomy)):
                key = pipeline.head, column
                estimates.values[key] = max(estimates.values.get(key, 1.0), found)
