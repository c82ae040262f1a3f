"""Walk one rule over the possible rows of a reading: how far it gets, and where it stops.

In: a slice, a rule, the values that its head must have, and the order in which the engine took the
body.  Out: a ``Halt``: the literal at which the furthest bindings stop, and those bindings.
Invariant: the literals before it can hold together under each of the bindings, and the literal
cannot; where a whole body may hold, the rule is open and not failed.

Example: ``is_vip(C002)`` gets past revenue and threshold and stops at ``?total > ?threshold``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.proof.inside import filled_head
from constat.proof.lateness import TooLargeError
from constat.proof.ordering import order_of

if TYPE_CHECKING:
    from constat.evaluation import DemandEntry
    from constat.logic import Row
    from constat.proof.instances import Binding, RuleCode
    from constat.proof.relation import Columns
    from constat.proof.slices import Slice

MOST_STEPS: Final = 200_000
MOST_BINDINGS: Final = 10_000

FAILED, OPEN_STATE, NOT_TRIED = "failed", "open", "not tried"


@dataclass(frozen=True, slots=True)
class Halt:
    """Where a rule stops.

    ``state`` is ``failed``, ``open`` or ``not tried``; ``place`` the literal that stops it, or
    ``None``, also where only the head differs; ``held`` the places of the literals before it,
    ``behind`` of those after it.  ``bindings`` are those that got there (the one that is open,
    where the rule is); ``tried`` counts all of them.
    """

    code: RuleCode
    state: str
    held: tuple[int, ...] = ()
    place: int | None = None
    bindings: tuple[Binding, ...] = ()
    tried: int = 0
    behind: tuple[int, ...] = ()


def walk_rule(
    walker: Slice, number: int, columns: Columns, key: Row, order: tuple[int, ...] | None
) -> Halt:
    """Walk a rule's body as far as it goes; ``order`` is the engine's, where it is on record."""
    code = walker.code(number)
    start = code.start(columns, key)
    if start is None:
        return Halt(code, FAILED)
    taken = order_of(code, columns) if order is None else order
    try:
        return _walked(walker, code, taken, start, (columns, key))
    except TooLargeError:
        return Halt(code, NOT_TRIED)


def _walked(
    walker: Slice,
    code: RuleCode,
    order: tuple[int, ...],
    start: Binding,
    wanted: tuple[Columns, Row],
) -> Halt:
    deepest, furthest, tried = 0, [start], 1
    waiting = [(0, start)]
    while waiting:
        depth, binding = waiting.pop()
        # A head that calculates may give another value than the one that is asked for.
        whole = depth == len(order)
        if whole and filled_head(code.head.pattern(binding), *wanted) is not None:
            return Halt(code, OPEN_STATE, order, None, (binding,), 1)
        if depth > deepest:
            deepest, furthest, tried = depth, [], 0
        if depth == deepest > 0:
            tried += 1
            if len(furthest) < MOST_BINDINGS:
                furthest.append(binding)
        walker.spend(1)
        if whole:
            continue
        extended = walker.extend(code, order[depth], binding)
        waiting += [(depth + 1, one) for one in reversed(list(extended))]
    if deepest == len(order):
        return Halt(code, FAILED, order, None, tuple(furthest), tried)
    held, place, behind = order[:deepest], order[deepest], order[deepest + 1 :]
    return Halt(code, FAILED, held, place, tuple(furthest), tried, behind)


def engine_order(
    demands: tuple[DemandEntry, ...], predicate: str, number: int, columns: Columns
) -> tuple[int, ...] | None:
    """Return the order in which the engine took a rule's body for these columns or fewer."""
    serving = [
        one
        for one in demands
        if one.predicate == predicate and set(one.columns) <= set(columns) and number in one.orders
    ]
    best = max(serving, key=lambda one: len(one.columns), default=None)
    return None if best is None else tuple(best.orders[number])
