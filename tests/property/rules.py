"""Draws random rules that are safe by construction.

In: the predicates a rule may use.  Out: a rule.  Invariants: every variable is bound; nothing
computed is in the head of a rule that uses its own layer, so that evaluation ends (semantics 15);
a variable that occurs once begins with an underscore.  The first letter of a variable tells its
kind: n number, s symbol, f float.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from hypothesis import strategies as st

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Term,
    Value,
    Variable,
    literal_variables,
    term_variables,
)

T = TypeVar("T")
Test = Positive | Negative | Comparison

DOMAIN: dict[Kind, tuple[Value, ...]] = {
    Kind.NUMBER: (0, 1, 2, 3),
    Kind.SYMBOL: ("a", "b", "1"),
    Kind.FLOAT: (0.5, 1.0, 2.0),
    Kind.STRUCTURE: ("$None", "$Leaf(1)", '$Node("a", $Leaf(1))', '$Node("b", $Node("a", $None))'),
}
TREE = "Tree"
"""The type of all structures: `None {} | Leaf { n: number } | Node { s: symbol, t: Tree }`."""
_LETTER = {Kind.NUMBER: "n", Kind.SYMBOL: "s", Kind.FLOAT: "f", Kind.STRUCTURE: "t"}
_ORDERINGS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a generated case may contain; `totals` are thresholds inside a recursion.

    With `structures` there are columns of one algebraic data type, and patterns of its branches.
    """

    open: bool = True
    assumed: bool = True
    errors: bool = True
    totals: bool = True
    structures: bool = False


class RuleDraw:
    """Draws one rule for a head predicate from lower predicates and those of its own layer."""

    def __init__(
        self,
        draw: st.DrawFn,
        shape: Shape,
        lower: list[Predicate],
        layer: list[Predicate],
    ) -> None:
        self.draw = draw
        self.shape = shape
        self.lower = lower
        self.layer = layer
        self.fresh = 0
        self.bound: dict[str, Kind] = {}

    def one(self, *options: T) -> T:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def shuffled(self, body: list[Literal]) -> list[Literal]:
        return list(self.draw(st.permutations(body)))

    def name(self, kind: Kind, prefix: str = "") -> str:
        self.fresh += 1
        return f"{_LETTER[kind]}{prefix}{self.fresh}_"

    def rule(self, head: Predicate, number: int) -> Rule:
        body = self.body(head)
        recursive = self.uses_layer(body)
        terms = tuple(
            self.head_term(column.kind, computed=not recursive) for column in head.columns
        )
        rule = Rule(f"{head.name}.{number}", Atom(head.name, terms), tuple(body))
        if self.shape.assumed and self.chance(20):
            proposed = self.one(True, False)
            confidence = Decimal(1) if proposed else Decimal("0.8")
            rule = replace(rule, proposed=proposed, confidence=confidence)
        return _underscored(rule)

    def body(self, head: Predicate) -> list[Literal]:
        body: list[Literal] = [Positive(self.atom(predicate)) for predicate in self.premises()]
        for literal in body:
            self.bind(literal)
        from_atoms = dict(self.bound)
        computed = [self.further() for _ in range(self.number(0, 2))]
        if self.chance(15):
            body.append(Positive(self.ground(self.one(*self.lower))))
        body.extend(computed)
        if self.layer and self.shape.totals and self.chance(25):
            body.extend(self.threshold())
        if self.uses_layer(body):
            self.bound = from_atoms
        return self.shuffled(body)

    def premises(self) -> list[Predicate]:
        count = self.one(1, 1, 2, 2, 2, 3, 0)
        choices = self.lower + self.layer
        return [self.one(*choices) for _ in range(count)]

    def uses_layer(self, body: list[Literal]) -> bool:
        names = {predicate.name for predicate in self.layer}
        tests = [t for one in body for t in (one.body if isinstance(one, Aggregate) else (one,))]
        return any(isinstance(one, Positive) and one.atom.predicate in names for one in tests)

    def atom(self, predicate: Predicate, prefix: str = "") -> Atom:
        return Atom(
            predicate.name,
            tuple(self.argument(column.kind, prefix) for column in predicate.columns),
        )

    def argument(self, kind: Kind, prefix: str) -> Term:
        if self.chance(8):
            return self.constant(kind)
        if self.chance(10):
            return Variable(self.name(kind, prefix))
        if kind is Kind.STRUCTURE and self.chance(40):
            return self.pattern(lambda inner: self.argument(inner, prefix))
        return Variable(f"{_LETTER[kind]}{prefix}_{self.one('x', 'y', 'z')}")

    def pattern(self, field: Callable[[Kind], Term]) -> Apply:
        """Give a branch with such fields; in an atom of a body it takes structures apart."""
        if self.one(True, False):
            return Apply("$Leaf", (field(Kind.NUMBER),))
        return Apply("$Node", (field(Kind.SYMBOL), field(Kind.STRUCTURE)))

    def constant(self, kind: Kind) -> Constant:
        return Constant(self.one(*DOMAIN[kind]), kind)

    def bind(self, literal: Literal) -> None:
        for variable in literal_variables(literal):
            self.bound[variable.name] = kind_of(variable.name)

    def known(self, kind: Kind) -> Term:
        names = [name for name, found in self.bound.items() if found is kind]
        if not names or self.chance(12):
            return self.constant(kind)
        return Variable(self.one(*names))

    def ground(self, predicate: Predicate) -> Atom:
        return Atom(
            predicate.name,
            tuple(self.expression(column.kind, 20) for column in predicate.columns),
        )

    def expression(self, kind: Kind, percent: int) -> Term:
        """Give a bound term, with this chance one that is computed."""
        if kind is Kind.FLOAT or not self.chance(percent):
            return self.known(kind)
        if kind is Kind.STRUCTURE:
            return self.pattern(lambda inner: self.expression(inner, percent // 2))
        if kind is Kind.SYMBOL:
            return self.one(
                Apply("cat", (self.known(kind), self.known(kind)), kind),
                Apply("to_string", (self.known(Kind.NUMBER),), kind),
            )
        erring = ("/", "%", "^", "bshl") if self.shape.errors else ()
        plain = ("+", "-", "*", "+", "-", "*", "band", "bxor", "min", "max")
        operator = self.one(*plain, *erring, "strlen", *(("to_number",) if erring else ()))
        if operator in {"strlen", "to_number"}:
            return Apply(operator, (self.known(Kind.SYMBOL),), kind)
        return Apply(operator, (self.known(kind), self.known(kind)), kind)

    def further(self) -> Literal:
        match self.one("comparison", "comparison", "negative", "negative", "equation", "aggregate"):
            case "negative":
                return Negative(self.ground(self.one(*self.lower)))
            case "equation":
                if self.shape.structures and self.one(True, False):
                    return self.opened()
                kind = self.one(Kind.NUMBER, Kind.SYMBOL)
                computed, name = self.expression(kind, 60), self.name(kind)
                self.bound[name] = kind
                if self.one(True, False):
                    return Comparison("=", computed, Variable(name))
                return Comparison("=", Variable(name), computed)
            case "aggregate":
                return self.aggregate()
            case _:
                return self.comparison()

    def opened(self) -> Comparison:
        """Give an equation that takes a structure apart, and may compare some fields."""
        whole = self.known(Kind.STRUCTURE)
        taken = self.pattern(lambda kind: self.one(Variable(self.name(kind)), self.known(kind)))
        if not isinstance(whole, Variable):
            taken = self.pattern(self.known)
        found = Comparison("=", *self.one((whole, taken), (taken, whole)))
        self.bind(Positive(Atom("", (taken,))))
        return found

    def comparison(self) -> Comparison:
        if self.shape.structures and self.chance(30):
            sides = (self.expression(Kind.STRUCTURE, 30), self.known(Kind.STRUCTURE))
            return Comparison(self.one("=", "!="), *sides)
        kind = self.one(Kind.NUMBER, Kind.NUMBER, Kind.SYMBOL)
        left, right = self.expression(kind, 30), self.expression(kind, 30)
        return Comparison(self.one(*_ORDERINGS), left, right)

    def aggregate(self) -> Aggregate:
        self.fresh += 1
        prefix = f"l{self.fresh}"
        outer = dict(self.bound)
        predicates = [self.one(*self.lower) for _ in range(self.one(1, 1, 2))]
        body: list[Test] = [Positive(self.inner(one, prefix, outer)) for one in predicates]
        for literal in body:
            self.bind(literal)
        local = [name for name in self.bound if name not in outer]
        if self.chance(30):
            body.append(self.comparison())
        if self.chance(20):
            body.append(Negative(self.ground(self.one(*self.lower))))
        function, target, kind = self.folded(local)
        self.bound = outer
        result = self.name(kind)
        self.bound[result] = kind
        return Aggregate(function, Variable(result), target, tuple(body))

    def threshold(self) -> tuple[Literal, Literal]:
        """Give a sum or count over the rule's own layer, and the bound it has to exceed."""
        self.fresh += 1
        prefix = f"l{self.fresh}"
        outer = dict(self.bound)
        predicates = [self.one(*self.layer), *(self.lower[:1] if self.chance(25) else [])]
        body: list[Test] = [Positive(self.inner(one, prefix, outer)) for one in predicates]
        for literal in body:
            self.bind(literal)
        local = [name for name in self.bound if name not in outer]
        numbers = [Variable(name) for name in local if kind_of(name) is Kind.NUMBER]
        target = self.one(*numbers) if numbers and self.chance(75) else None
        if target is not None and (not self.shape.errors or self.chance(40)):
            body.append(Comparison(">=", target, Constant(0, Kind.NUMBER)))
        if self.chance(20):
            body.append(Negative(self.ground(self.one(*self.lower))))
        self.bound = outer
        bound = self.expression(Kind.NUMBER, 20)
        result = Variable(self.name(Kind.NUMBER))
        function = "count" if target is None else "sum"
        operator, turned = self.one((">", "<"), (">=", "<="))
        compared = Comparison(operator, result, bound)
        if self.chance(30):
            compared = Comparison(turned, bound, result)
        return Aggregate(function, result, target, tuple(body)), compared

    def inner(self, predicate: Predicate, prefix: str, outer: dict[str, Kind]) -> Atom:
        """Give an atom of an aggregate's body: local variables, outer ones and constants."""
        terms: list[Term] = []
        for column in predicate.columns:
            names = [name for name, kind in outer.items() if kind is column.kind]
            if names and self.chance(40):
                terms.append(Variable(self.one(*names)))
            else:
                terms.append(self.argument(column.kind, prefix))
        return Atom(predicate.name, tuple(terms))

    def folded(self, local: list[str]) -> tuple[str, Term | None, Kind]:
        numbers = [name for name in local if kind_of(name) is Kind.NUMBER]
        symbols = [name for name in local if kind_of(name) is Kind.SYMBOL]
        options = ["count", *(["sum", "min", "max", "mean"] if numbers else [])]
        function = self.one(*options, *(["text"] if symbols else []))
        if function == "count":
            return "count", None, Kind.NUMBER
        if function == "text":
            return self.one("min", "max"), Variable(self.one(*symbols)), Kind.SYMBOL
        target: Term = Variable(self.one(*numbers))
        if self.shape.errors and self.chance(20):
            target = Apply(self.one("/", "*"), (target, self.constant(Kind.NUMBER)), Kind.NUMBER)
        return function, target, Kind.FLOAT if function == "mean" else Kind.NUMBER

    def head_term(self, kind: Kind, *, computed: bool) -> Term:
        return self.expression(kind, 20 if computed else 0)


def kind_of(name: str) -> Kind:
    letter = name.lstrip("_")[0]
    return next(kind for kind, one in _LETTER.items() if one == letter)


def _underscored(rule: Rule) -> Rule:
    """Write variables that occur once as ``_name``, as the strict language wants."""
    seen = Counter(v.name for term in rule.head.terms for v in term_variables(term))
    seen.update(v.name for literal in rule.body for v in literal_variables(literal))
    single = _Singles(frozenset(name for name, times in seen.items() if times == 1))
    return replace(rule, head=single.atom(rule.head), body=tuple(map(single.literal, rule.body)))


@dataclass(frozen=True, slots=True)
class _Singles:
    """Puts an underscore before the names that occur once."""

    names: frozenset[str]

    def variable(self, one: Variable) -> Variable:
        return Variable(f"_{one.name}") if one.name in self.names else one

    def term(self, one: Term) -> Term:
        match one:
            case Variable():
                return self.variable(one)
            case Apply(arguments=arguments):
                return replace(one, arguments=tuple(map(self.term, arguments)))
            case Constant():
                return one

    def atom(self, one: Atom) -> Atom:
        return Atom(one.predicate, tuple(map(self.term, one.terms)))

    def test(self, one: Test) -> Test:
        match one:
            case Positive(inner):
                return Positive(self.atom(inner))
            case Negative(inner):
                return Negative(self.atom(inner))
            case Comparison():
                return replace(one, left=self.term(one.left), right=self.term(one.right))

    def literal(self, one: Literal) -> Literal:
        if not isinstance(one, Aggregate):
            return self.test(one)
        target = None if one.target is None else self.term(one.target)
        inner = tuple(map(self.test, one.body))
        return replace(one, result=self.variable(one.result), target=target, body=inner)


def counter(predicate: Predicate, number: int) -> Rule:
    """Give a recursion through arithmetic that a comparison bounds."""
    before, after = Variable("n_x"), Variable("n_y")
    return Rule(
        f"{predicate.name}.{number}",
        Atom(predicate.name, (after,)),
        (
            Positive(Atom(predicate.name, (before,))),
            Comparison("<", before, Constant(3, Kind.NUMBER)),
            Comparison("=", after, Apply("+", (before, Constant(1, Kind.NUMBER)), Kind.NUMBER)),
        ),
    )
