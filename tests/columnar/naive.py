"""Rules over sets of Python rows, evaluated naively: the oracle.

Shares nothing with the plan: it reads the rules themselves. Literals are taken in any order in
which their variables are bound; rounds repeat everything until nothing is new.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Negative,
    Positive,
    Variable,
    literal_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.logic import Atom, Literal, Rule, Term

Rows = set[tuple[int, ...]]
Binding = dict[str, int]

LIMIT = 1 << 63
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class UndefinedError(Exception):
    """An expression has no value of 64 bits."""


def fixpoint(rules: Sequence[Rule], given: Mapping[str, Rows]) -> tuple[dict[str, Rows], int]:
    """All rows of all relations, and in how many rounds something was new."""
    rows: dict[str, Rows] = {name: set(found) for name, found in given.items()}
    for rule in rules:
        rows.setdefault(rule.head.predicate, set())
    rounds = 0
    while True:
        fresh = [(rule.head.predicate, row) for rule in rules for row in fire(rule, rows)]
        new = {(name, row) for name, row in fresh if row not in rows[name]}
        if not new:
            return rows, rounds
        rounds += 1
        for name, row in new:
            rows[name].add(row)


def fire(rule: Rule, rows: Mapping[str, Rows]) -> Iterator[tuple[int, ...]]:
    """The rows a rule derives."""
    for binding in solutions(list(rule.body), {}, rows, rule):
        yield tuple(value(term, binding) for term in rule.head.terms)


def solutions(
    body: list[Literal], binding: Binding, rows: Mapping[str, Rows], rule: Rule
) -> Iterator[Binding]:
    """The bindings that satisfy a body."""
    if not body:
        yield binding
        return
    literal = next(one for one in body if ready(one, binding, body))
    rest = [one for one in body if one is not literal]
    for extended in satisfy(literal, binding, rows, rule):
        yield from solutions(rest, extended, rows, rule)


def ready(literal: Literal, binding: Binding, body: list[Literal]) -> bool:
    names = {one.name for one in literal_variables(literal)}
    match literal:
        case Positive(atom):
            applied = [term for term in atom.terms if isinstance(term, Apply)]
            return all(bound(term, binding) for term in applied)
        case Comparison("=", left, right):
            sides = (bound(left, binding), bound(right, binding))
            variables = (isinstance(left, Variable), isinstance(right, Variable))
            return all(sides) or (sides[0] and variables[1]) or (sides[1] and variables[0])
        case Aggregate():
            positive = {
                v.name for one in body if isinstance(one, Positive) for v in literal_variables(one)
            }
            return not (names & positive)
        case _:
            others = {
                v.name
                for one in body
                if one is not literal and not isinstance(one, Negative)
                for v in literal_variables(one)
            }
            return (
                not (names - set(binding)) & others
                if isinstance(literal, Negative)
                else names <= set(binding)
            )


def satisfy(
    literal: Literal, binding: Binding, rows: Mapping[str, Rows], rule: Rule
) -> Iterator[Binding]:
    match literal:
        case Positive(atom):
            yield from matches(atom, binding, rows)
        case Negative(atom):
            if next(matches(atom, binding, rows), None) is None:
                yield binding
        case Comparison(symbol, left, right):
            if symbol == "=" and isinstance(left, Variable) and left.name not in binding:
                yield {**binding, left.name: value(right, binding)}
            elif symbol == "=" and isinstance(right, Variable) and right.name not in binding:
                yield {**binding, right.name: value(left, binding)}
            elif COMPARE[symbol](value(left, binding), value(right, binding)):
                yield binding
        case Aggregate():
            yield from aggregate(literal, binding, rows, rule)


def aggregate(
    literal: Aggregate, binding: Binding, rows: Mapping[str, Rows], rule: Rule
) -> Iterator[Binding]:
    found = list(solutions(list(literal.body), binding, rows, rule))
    told = {tuple(sorted(one.items())) for one in found}
    values = [
        1 if literal.target is None else value(literal.target, dict(one)) for one in sorted(told)
    ]
    match literal.function:
        case "min" | "max" if not values:
            return
        case "min":
            result = min(values)
        case "max":
            result = max(values)
        case _:
            result = sum(values)
    known = binding.get(literal.result.name, result)
    if literal.recursive or -LIMIT <= result < LIMIT:
        if known == result:
            yield {**binding, literal.result.name: result}
    else:
        raise UndefinedError


def matches(atom: Atom, binding: Binding, rows: Mapping[str, Rows]) -> Iterator[Binding]:
    for row in rows.get(atom.predicate, ()):
        extended = dict(binding)
        for term, one in zip(atom.terms, row, strict=True):
            if isinstance(term, Variable) and term.name not in extended:
                extended[term.name] = one
            elif value(term, extended) != one:
                break
        else:
            yield extended


def bound(term: Term, binding: Binding) -> bool:
    match term:
        case Variable(name):
            return name in binding
        case Constant():
            return True
        case Apply(arguments=arguments):
            return all(bound(one, binding) for one in arguments)


def value(term: Term, binding: Binding) -> int:
    match term:
        case Variable(name):
            return binding[name]
        case Constant(value=found):
            assert isinstance(found, int)
            return found
        case Apply(function, arguments):
            return applied(function, [value(one, binding) for one in arguments])


def applied(function: str, values: list[int]) -> int:
    match function, values:
        case "+", [left, right]:
            result = left + right
        case "-", [left, right]:
            result = left - right
        case "*", [left, right]:
            result = left * right
        case "/" | "%", [_, 0]:
            raise UndefinedError
        case "/", [left, right]:
            result = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case "%", [left, right]:
            result = abs(left) % abs(right) * (-1 if left < 0 else 1)
        case "neg", [one]:
            result = -one
        case _:
            raise AssertionError(function)
    if not -LIMIT <= result < LIMIT:
        raise UndefinedError
    return result
