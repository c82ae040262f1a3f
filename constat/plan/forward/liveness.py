"""Projection and distinct push-down: which slots are read later, where duplicates are worth it.

In: a compiled rule. Out: for each step the slots that anything after it reads, and the steps after
which duplicates of these are worth dropping. Invariant: rows may be projected to the live slots,
and made distinct, without changing the head, because a rule's head is a set. An aggregate reads
its group only, so it may be computed once for each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.plan.forward.estimates import Bindings, advance
from constat.plan.operators import (
    Absence,
    Compute,
    Filter,
    Fold,
    Join,
    RulePlan,
    Step,
    slots_of,
)

if TYPE_CHECKING:
    from constat.plan.forward.estimates import Estimates

_PAYS_FROM = 2.0
_PAYS_ROWS = 1000.0


def live_slots(plan: RulePlan) -> tuple[frozenset[int], ...]:
    """The slots that are read after each step."""
    live = {slot for expression in plan.head for slot in slots_of(expression)}
    found: list[frozenset[int]] = []
    widths = list(_widths(plan))
    for step, width in zip(reversed(plan.steps), reversed(widths), strict=True):
        found.append(frozenset(slot for slot in live if slot < width))
        live |= reads(step)
    return tuple(reversed(found))


def reads(step: Step) -> set[int]:
    """The slots a step reads."""
    match step:
        case Join(key=key) | Absence(key=key):
            return set(key)
        case Filter(left=left, right=right):
            return {*slots_of(left), *slots_of(right)}
        case Compute(expression=expression):
            return set(slots_of(expression))
        case Fold(group=group, threshold=threshold):
            return {*group, *(slots_of(threshold.bound) if threshold is not None else ())}


def appended(step: Step) -> int:
    """How many slots a step appends."""
    match step:
        case Join(kept=kept):
            return len(kept)
        case Compute() | Fold():
            return 1
        case _:
            return 0


def worth_dropping(
    plan: RulePlan, live: tuple[frozenset[int], ...], estimates: Estimates
) -> frozenset[int]:
    """The steps after which it pays to drop duplicates of the live slots.

    That is before an aggregate, and before a join that would repeat work for many equal bindings.
    """
    found: set[int] = set()
    if len(plan.steps) < 2:  # noqa: PLR2004  the head is distinct in any case
        return frozenset(found)
    bindings = Bindings(1.0, [1.0] * len(plan.constants))
    width = len(plan.constants)
    dropped = False
    for place, step in enumerate(plan.steps[:-1]):
        advance(bindings, step, estimates)
        width += appended(step)
        if not isinstance(step, Join):
            continue
        held = len(step.columns) + len(step.kept) + len(step.same)
        dropped = dropped or len(live[place]) < width or held < step.arity
        if not dropped:
            continue
        following = plan.steps[place + 1]
        left = bindings.distinct(sorted(live[place]))
        pays = bindings.rows > _PAYS_ROWS and bindings.rows > _PAYS_FROM * left
        if isinstance(following, Fold) or (isinstance(following, Join) and pays):
            found.add(place)
            bindings.rows = min(bindings.rows, left)
    return frozenset(found)


def _widths(plan: RulePlan) -> list[int]:
    width = len(plan.constants)
    found = []
    for step in plan.steps:
        width += appended(step)
        found.append(width)
    return found
