"""Which aggregates may depend on their rule's own head, and what their totals have to exceed.

In: the rules of a certificate.  Out: the same rules; each `sum` or `count` over the head's own
stratum, of which nothing but a lower bound is asked, knows its threshold.  Invariant: such a rule
is monotone as long as no summand is negative, so a least model exists (Ross and Sagiv, 1992); all
other aggregates over the own stratum are left to the pass that rejects them.  FORMAT.md, section 4.

Example: of ``?s = sum ?w : { holds(?x, _v, ?y, ?w) }, ?s > 50`` the threshold is 50, exclusive.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .rules import Aggregate, Call, Comparison, Constant, Positive, Threshold, Variable, occurrences
from .strata import components, dependencies
from .values import parse

if TYPE_CHECKING:
    from .rules import Literal, Rule, Term

_TURNED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_ABOVE: Final = MappingProxyType({">": 1, ">=": 0})


def with_thresholds(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules with the thresholds of their recursive aggregates."""
    below = dependencies(rules)
    component = components({head: list(found) for head, found in below.items()})

    def marked(rule: Rule, literal: Literal) -> Literal:
        if not isinstance(literal, Aggregate) or literal.function not in {"sum", "count"}:
            return literal
        own = component[rule.head.predicate]
        inside = [test.atom.predicate for test in literal.body if isinstance(test, Positive)]
        if all(component.get(predicate) != own for predicate in inside):
            return literal
        return replace(literal, threshold=_threshold(rule, literal))

    return tuple(
        replace(rule, body=tuple([marked(rule, literal) for literal in rule.body]))
        for rule in rules
    )


def _threshold(rule: Rule, literal: Aggregate) -> Threshold | None:
    """Return the one comparison in which the result occurs, if it asks for a lower bound."""
    result = literal.result
    # A float total is rounded: whether it exceeds a bound may depend on what else was added.
    if occurrences(rule, result.position) != 2 or result.kind == "float":  # noqa: PLR2004
        return None
    for place, test in enumerate(rule.body):
        if isinstance(test, Comparison) and test.operator in _TURNED:
            if test.left == result and test.operator in _ABOVE:
                return Threshold(place, _ABOVE[test.operator], test.right, is_proven(literal))
            turned = _TURNED[test.operator]
            if test.right == result and turned in _ABOVE:
                return Threshold(place, _ABOVE[turned], test.left, is_proven(literal))
    return None


def is_proven(literal: Aggregate) -> bool:
    """Tell whether the text alone shows that no summand is negative."""
    if literal.target is None:
        return True
    guarded = _guarded(literal)
    waiting: list[Term] = [literal.target]
    while waiting:
        term = waiting.pop()
        if term.kind == "unsigned" or (isinstance(term, Variable) and term.position in guarded):
            continue
        if isinstance(term, Constant) and _is_floor(term):
            continue
        if not isinstance(term, Call) or term.function not in {"+", "*"}:
            return False
        waiting += term.args
    return True


def _guarded(literal: Aggregate) -> set[int]:
    """Return the variables that a comparison of the body keeps from being negative."""
    found: set[int] = set()
    for test in literal.body:
        if isinstance(test, Comparison) and test.operator in _TURNED:
            if test.operator in _ABOVE and isinstance(test.left, Variable):
                found |= {test.left.position} if _is_floor(test.right) else set()
            if _TURNED[test.operator] in _ABOVE and isinstance(test.right, Variable):
                found |= {test.right.position} if _is_floor(test.left) else set()
    return found


def _is_floor(term: Term) -> bool:
    if not isinstance(term, Constant) or term.kind not in {"number", "unsigned", "Decimal"}:
        return False
    return parse(term.kind, term.value) >= 0
