"""Thresholds: an aggregate of which a rule asks only whether it is beyond some bound.

In: a rule and the place of one of its aggregates. Out: the comparison it is used in, or `None`.
Invariant: a threshold is monotone as long as no summand is negative: more rows never make it
false. That is why `sum` and `count` may run through recursion in this form and in no other.
Example: in `?s = sum ?w : { holds(?x, _, ?y, ?w) }, ?s > 50` the sum is a threshold, and `?s > 50`
is all there is to know of it. See Ross and Sagiv, Monotonic aggregation in deductive databases
(1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic.program import literal_variables, term_variables
from constat.logic.terms import Aggregate, Apply, Comparison, Constant, Variable
from constat.logic.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic.program import Rule
    from constat.logic.terms import Term

_TURNED: Final = MappingProxyType({">": "<", ">=": "<=", "<": ">", "<=": ">="})
_UPWARD: Final = frozenset({">", ">="})
# 38 digits before the point, 38 after it, and room for 10^24 summands: every sum is exact.
_SUMS: Final = Context(prec=100, Emax=999, Emin=-999)


@dataclass(frozen=True, slots=True)
class Threshold:
    """`result operator bound`, operator `>` or `>=`; `place` is the comparison's in the body."""

    place: int
    operator: str
    bound: Term


def threshold_of(rule: Rule, place: int) -> Threshold | None:
    """Give the one comparison that uses the aggregate at `place`, if it is a lower bound."""
    aggregate = rule.body[place]
    if not isinstance(aggregate, Aggregate) or aggregate.function not in {"sum", "count"}:
        return None
    result = aggregate.result
    if uses_of(rule, result) != 2:  # noqa: PLR2004  as the result, and in the comparison
        return None
    for at, literal in enumerate(rule.body):
        if isinstance(literal, Comparison) and literal.operator in _TURNED:
            if literal.left == result and literal.operator in _UPWARD:
                return Threshold(at, literal.operator, literal.right)
            if literal.right == result and _TURNED[literal.operator] in _UPWARD:
                return Threshold(at, _TURNED[literal.operator], literal.left)
    return None


def add_exactly(total: int | Decimal, value: int | Decimal) -> int | Decimal:
    """Add two summands. A total is no value: it neither overflows nor is it rounded."""
    if isinstance(value, Decimal):
        return _SUMS.add(Decimal(total), value)
    return total + value


def is_beyond(total: int | Decimal, operator: str, bound: int | Decimal) -> bool:
    """Whether a total is greater than a bound, or for `>=` as great."""
    return total > bound or (operator == ">=" and total == bound)


def uses_of(rule: Rule, variable: Variable) -> int:
    """How often a variable occurs in a rule, as the result of an aggregate included."""
    found = [one for term in rule.head.terms for one in term_variables(term)]
    for literal in rule.body:
        found.extend(literal_variables(literal))
    return found.count(variable)


def is_never_negative(aggregate: Aggregate, kinds: Mapping[str, Kind]) -> bool:
    """Whether the text alone says that no summand is below zero.

    A count adds ones; an unsigned value has no sign; a variable may have a guard such as `?w >= 0`
    in the aggregate's body; sums and products of such terms are again such terms.
    """
    if aggregate.target is None:
        return aggregate.function == "count"
    guarded = frozenset(_guarded(aggregate))
    pending = [aggregate.target]
    while pending:
        match pending.pop():
            case Variable(name) if name in guarded or kinds.get(name) is Kind.UNSIGNED:
                pass
            case Constant(value=value) if not isinstance(value, str) and value >= 0:
                pass
            case Apply(kind=Kind.UNSIGNED):
                pass
            case Apply(function="+" | "*", arguments=arguments):
                pending.extend(arguments)
            case _:
                return False
    return True


def _guarded(aggregate: Aggregate) -> list[str]:
    """The variables that a comparison of the body keeps from being negative."""
    names: list[str] = []
    for literal in aggregate.body:
        if isinstance(literal, Comparison) and literal.operator in _TURNED:
            ways = (
                (literal.operator, literal.left, literal.right),
                (_TURNED[literal.operator], literal.right, literal.left),
            )
            names.extend(
                side.name
                for operator, side, other in ways
                if operator in _UPWARD and isinstance(side, Variable) and _is_floor(other)
            )
    return names


def _is_floor(term: Term) -> bool:
    if not isinstance(term, Constant) or isinstance(term.value, str):
        return False
    return term.value >= 0
