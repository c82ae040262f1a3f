"""Say a program in the words of another engine.

In: the text of a program as Constat and Souffle read it. Out: the rules for clingo, Nemo or egglog,
or `CannotSayError` where the engine has no words for a construct. So each shape is written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Negative,
    Positive,
    Variable,
    is_wildcard,
    literal_variables,
)
from constat.logic.arithmetic import unwrapped
from constat.session.running import load_runnable
from constat.syntax import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from constat.logic import Atom, Literal, Rule, Term

CANNOT: Final = 3
"""The exit code of a peer that cannot say a workload."""
_ARITHMETIC: Final = frozenset({"+", "-", "*", "%"})


class CannotSayError(Exception):
    """The engine has no words for it."""


def rules_of(program: Path) -> tuple[Rule, ...]:
    """Read the rules of a program, as analysis leaves them."""
    return load_runnable(program, Mode.SOUFFLE, 64, {}).analysed.rules


def clingo(rules: Sequence[Rule]) -> str:
    """Write rules for clingo."""
    spelling = _Infix(lambda name: f"V{name}", "not ", {"%": "\\"}, {"=": "="})
    return "\n".join(f"{spelling.rule(one)}." for one in rules)


def nemo(rules: Sequence[Rule]) -> str:
    """Write rules for Nemo, whose aggregates stand in heads and are left out here."""
    if any(isinstance(one, Aggregate) for rule in rules for one in rule.body):
        raise CannotSayError("an aggregate")
    spelling = _Infix(lambda name: f"?v{name}", "~", {}, {})
    return "\n".join(f"{spelling.rule(one)} ." for one in rules)


class _Infix:
    """Rules with operators between their arguments."""

    def __init__(
        self,
        variable: Callable[[str], str],
        negation: str,
        functions: dict[str, str],
        operators: dict[str, str],
    ) -> None:
        self.variable = variable
        self.negation = negation
        self.functions = functions
        self.operators = operators

    def rule(self, rule: Rule) -> str:
        head = self.atom(rule.head)
        body = ", ".join(map(self.literal, rule.body))
        return f"{head} :- {body}" if body else head

    def atom(self, atom: Atom) -> str:
        return f"{atom.predicate}({','.join(map(self.term, atom.terms))})"

    def literal(self, literal: Literal) -> str:
        match literal:
            case Positive(atom):
                return self.atom(atom)
            case Negative(atom):
                # A variable that occurs nowhere else is not safe there unless it has no name.
                terms = ("_" if is_wildcard(one) else self.term(one) for one in atom.terms)
                return f"{self.negation}{atom.predicate}({','.join(terms)})"
            case Comparison(operator, left, right):
                operator = self.operators.get(operator, operator)
                return f"{self.term(left)} {operator} {self.term(right)}"
            case Aggregate():
                return self.aggregate(literal)

    def aggregate(self, literal: Aggregate) -> str:
        """Name every variable of the body: assignments are counted, not values."""
        names = dict.fromkeys(v.name for one in literal.body for v in literal_variables(one))
        told = [self.variable(name) for name in names]
        if literal.target is not None:
            told.insert(0, self.term(literal.target))
        body = ", ".join(map(self.literal, literal.body))
        plain = unwrapped(literal.function)[0]
        return f"{self.term(literal.result)} = #{plain}{{{','.join(told)} : {body}}}"

    def term(self, term: Term) -> str:
        match term:
            case Variable(name):
                return self.variable(name)
            case Constant(value):
                return f'"{value}"' if isinstance(value, str) else str(value)
            case Apply(function, arguments):
                plain = unwrapped(function)[0]
                if plain not in _ARITHMETIC or (plain == "%" and "%" not in self.functions):
                    raise CannotSayError(plain)
                left, right = map(self.term, arguments)
                return f"({left} {self.functions.get(plain, plain)} {right})"


def egglog(rules: Sequence[Rule], given: Sequence[str]) -> str:
    """Write rules for egglog with the relations that are not given."""
    arities = {one.head.predicate: len(one.head.terms) for one in rules}
    lines = [
        f"(relation {name} ({' '.join(['i64'] * arity)}))"
        for name, arity in arities.items()
        if name not in given
    ]
    for one in rules:
        body = " ".join(map(_fact, one.body))
        lines.append(f"(rule ({body}) ({_call(one.head.predicate, one.head.terms)}))")
    return "\n".join(lines)


def _fact(literal: Literal) -> str:
    match literal:
        case Positive(atom):
            return _call(atom.predicate, atom.terms)
        case Comparison(operator, left, right):
            return _call(operator, (left, right))
        case _:
            raise CannotSayError("a negation or an aggregate")


def _call(name: str, terms: Sequence[Term]) -> str:
    return f"({name} {' '.join(map(_value, terms))})"


def _value(term: Term) -> str:
    match term:
        case Variable(name):
            return f"v{name}"
        case Constant(value) if isinstance(value, int):
            return str(value)
        case Apply(function, arguments) if unwrapped(function)[0] in _ARITHMETIC:
            return _call(unwrapped(function)[0], arguments)
        case _:
            raise CannotSayError("a value")
