"""An order for a rule's body where the engine has none on record.

In: a compiled rule and the columns that are bound.  Out: a permutation of the body such that each
literal finds bound what it must read.  Invariant: for a safe rule such an order exists and is
found. Example: ``p(?x) :- ?y > 3, q(?x, ?y).`` with column 0 bound is taken as ``q``, then the
comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.proof.instances import AggregateCode, ComparisonCode, NegativeCode, PositiveCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.proof.instances import LiteralCode, RuleCode, TermCode

_LATE: Final = 1_000_000


def order_of(rule: RuleCode, columns: Sequence[int]) -> tuple[int, ...]:
    """Order a body greedily: tests first, then the atom with the fewest unbound arguments."""
    bound = {rule.head.slots[column] for column in columns}
    left = list(range(len(rule.body)))
    order: list[int] = []
    while left:
        best = min(left, key=lambda place: (_rank(rule.body[place], bound), place))
        left.remove(best)
        order.append(best)
        bound |= _binds(rule.body[best])
    return tuple(order)


def is_ready(literal: LiteralCode, bound: set[int]) -> bool:
    """Tell whether what a literal must read is bound."""
    return _rank(literal, bound) < _LATE


def _rank(literal: LiteralCode, bound: set[int]) -> int:
    match literal:
        case ComparisonCode(left=left, right=right):
            ready = left.reads | right.reads <= bound
            return (
                0 if ready or (literal.operator == "=" and _assigns(left, right, bound)) else _LATE
            )
        case NegativeCode(atom):
            return 1 if all(term.reads <= bound for term in atom.terms) else _LATE
        case PositiveCode(atom):
            if any(term.slot < 0 and not term.reads <= bound for term in atom.terms):
                return _LATE
            return 2 + sum(not term.reads <= bound for term in atom.terms)
        case AggregateCode(outer=outer, threshold=threshold):
            # A recursive threshold is held against its bound where it is taken.
            needs = set(outer) | (threshold.bound.reads if threshold is not None else set())
            return 2 if needs <= bound else _LATE


def _assigns(left: TermCode, right: TermCode, bound: set[int]) -> bool:
    return any(
        side.slot >= 0 and other.reads <= bound for side, other in ((left, right), (right, left))
    )


def _binds(literal: LiteralCode) -> set[int]:
    match literal:
        case PositiveCode(atom):
            return {slot for slot in atom.slots if slot >= 0}
        case ComparisonCode(left=left, right=right):
            return {side.slot for side in (left, right) if side.slot >= 0}
        case AggregateCode(result=result):
            return {result}
        case NegativeCode():
            return set()
