"""Programs with records and algebraic data types, and opened rules written as functions."""

from __future__ import annotations

from constat.analysis import analyse_or_raise
from constat.diagnostics import Diagnostic
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
)
from tests.analysis.programs import diagnostics_of, program_of

TYPES = """
.type Id <: symbol
.type Pair = [a: number, b: symbol]
.type Couple = [a: number, b: symbol]
.type List = [head: number, tail: List]
.type Price = [amount: Decimal, weight: float, paid: Date]
.type Owned = [owner: Id, pair: Pair]
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Zero {}
.type Term = Expr
.decl pair(p: Pair)
.decl other(p: Pair)
.decl couple(c: Couple)
.decl list(l: List)
.decl price(p: Price)
.decl owned(o: Owned)
.decl id(i: Id)
.decl expr(e: Expr)
.decl term(t: Term)
.decl q(a: number, b: symbol)
.decl n(a: number)
.decl found(a: number)
.decl s(b: symbol)
"""


def opened(rules: str) -> list[str]:
    """Give the bodies of opened rules, functions written as such."""
    found = analyse_or_raise(program_of(TYPES + rules))
    return [", ".join(map(shown, rule.body)) for rule in found.rules]


def body(rule: str) -> str:
    """Give the body of one opened rule."""
    (found,) = opened(rule)
    return found


def rule_of(text: str) -> Rule:
    """Give one opened rule."""
    (found,) = analyse_or_raise(program_of(TYPES + text)).rules
    return found


def mistakes(rules: str) -> list[Diagnostic]:
    """Give the diagnostics of some rules over the declared predicates."""
    return diagnostics_of(TYPES + rules)


def codes(rules: str) -> list[str]:
    """Give the codes of the diagnostics of some rules."""
    return [one.code for one in mistakes(rules)]


def shown(literal: Literal) -> str:
    """Write a literal with its functions."""
    match literal:
        case Positive(atom):
            return f"{atom.predicate}({_terms(atom.terms)})"
        case Negative(atom):
            return f"!{atom.predicate}({_terms(atom.terms)})"
        case Comparison(operator=operator, left=left, right=right):
            return f"{_term(left)} {operator} {_term(right)}"
        case Aggregate(function=function, result=result, target=target, body=inner):
            over = "" if target is None else f" {_term(target)}"
            inside = ", ".join(map(shown, inner))
            return f"{result.name} = {function}{over} : {{{inside}}}"


def _terms(terms: tuple[Term, ...]) -> str:
    return ", ".join(map(_term, terms))


def _term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value=value):
            return f"'{value}'" if isinstance(value, str) else str(value)
        case Apply(function=function, arguments=arguments):
            return f"{function}({_terms(arguments)})"
