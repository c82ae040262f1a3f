"""Find drafted rules that count on without end.

In: an analysed program and the predicates that a draft derives. Out: diagnostics. Invariant: a rule
that is reported calculates a value of its head inside a recursion, and nothing in its body bounds
such a value; so its relation may have no end (semantics 15). What is not reported is bounded by the
limits of an evaluation as everything is. Example: `n(?x + 1) :- n(?x).`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic
from constat.logic import Apply, Comparison, Positive, Variable, term_variables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Rule

_BOUNDS = frozenset({"<", "<=", ">", ">="})


def runaways(program: AnalysedProgram, drafted: Collection[str]) -> Iterator[Diagnostic]:
    """Report the drafted rules that may go on for ever."""
    together = {
        name: frozenset(component.predicates)
        for component in program.components
        if component.recursive
        for name in component.predicates
    }
    for rule in program.rules:
        name = rule.head.predicate
        if name not in drafted or name not in together or not rule.proposed:
            continue
        recursive = any(
            isinstance(literal, Positive) and literal.atom.predicate in together[name]
            for literal in rule.body
        )
        if recursive and _counts_on(rule):
            yield Diagnostic(
                "C0878",
                f"a rule of `{name}` calculates new values from its own, without a bound",
                rule.span,
                note="such a rule may go on for ever",
                help="bound the calculated value in the body, for example `?n < 100`, "
                "or calculate outside the recursion",
            )


def _counts_on(rule: Rule) -> bool:
    if any(isinstance(term, Apply) for term in rule.head.terms):
        return True
    in_head = {one.name for term in rule.head.terms for one in term_variables(term)}
    calculated = {name for name in _calculated(rule) if name in in_head}
    bounded = {
        one.name
        for literal in rule.body
        if isinstance(literal, Comparison) and literal.operator in _BOUNDS
        for term in (literal.left, literal.right)
        for one in term_variables(term)
    }
    return bool(calculated - bounded)


def _calculated(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(one, Variable) and isinstance(other, Apply):
                    yield one.name
