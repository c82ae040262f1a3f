"""A program with closed facts in the language of clingo, an answer set solver.

In: an analysed program and a ``World`` without openings.  Out: the text of a logic program with the
same least model, stratum by stratum.  Shares nothing with our engines: clingo grounds, negates and
aggregates by itself, and here only syntax changes.  Integers are integers; texts, dates and
structures are strings, and what takes structures apart is out of scope; a float and a Decimal are
opaque, ``float("0x1p-1")``; what clingo has no function for is a function of ``terms``.

Example: ``p(?x) :- q(?x), !r(?x).`` becomes ``r_p(V_x) :- r_q(V_x), not r_r(V_x).``
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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
    Rule,
    Term,
    Value,
    Variable,
    literal_variables,
    term_variables,
    threshold_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from tests.oracle.naive import World

_INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_TEXTS = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL})
_FRACTIONS = frozenset({Kind.FLOAT, Kind.DECIMAL})
_NATIVE = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "\\"}
_NATIVE |= {"band": "&", "bor": "?", "bxor": "^"}
_PREFIXES = {"neg": "0 - ", "bnot": "~"}
_CALLED = {"cat": "@cat", "strlen": "@size", "to_string": "@text"}
_CALLED |= {"min": "@least", "max": "@greatest"}
_FRACTIONAL = frozenset({"+", "-", "*", "neg", "min", "max"})


_WIDEST: Final = (1 << 31) - 1
"""Integers are of 32 bits there."""


class OutOfScopeError(ValueError):
    """clingo has no counterpart for it."""


def program_text(program: AnalysedProgram, world: World) -> str:
    """Write facts and rules, one on a line; raises ``OutOfScopeError``."""
    lines: list[str] = []
    for name, rows in world.rows.items():
        kinds = program.program.predicates[name].kinds
        for row, assumption in rows:
            if assumption is not None:
                raise OutOfScopeError("an assumption")
            values = [_value(value, kind) for value, kind in zip(row, kinds, strict=True)]
            lines.append(_applied(name, values) + ".")
    if any(world.openings.values()) or any(rule.assumed for rule in program.rules):
        raise OutOfScopeError("something open, or an assumption")
    for number, rule in enumerate(program.rules):
        lines.append(_RuleText(rule, program.variable_kinds[number]).text())
    return "\n".join(lines) + "\n"


def relation_name(predicate: str) -> str:
    """Give the name that a predicate has in the text."""
    return f"r_{predicate.replace('.', '__')}"


def _applied(predicate: str, terms: Iterable[str]) -> str:
    inside = ", ".join(terms)
    return relation_name(predicate) + (f"({inside})" if inside else "")


def _value(value: Value, kind: Kind) -> str:
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            if abs(int(value)) > _WIDEST:
                raise OutOfScopeError(f"{value} does not fit into 32 bits")
            return str(value)
        case Kind.SYMBOL | Kind.DATE | Kind.TIMESTAMP | Kind.BOOL | Kind.STRUCTURE:
            text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return f'"{text}"'
        case Kind.FLOAT:
            return f'float("{float(value).hex()}")'
        case Kind.DECIMAL:
            return f'decimal("{value:f}")'


@dataclass(frozen=True, slots=True)
class _RuleText:
    """The text of one rule."""

    rule: Rule
    kinds: Mapping[str, Kind]

    def text(self) -> str:
        rule = self.rule
        thresholds = {
            place: threshold_of(rule, place)
            for place, literal in enumerate(rule.body)
            if isinstance(literal, Aggregate) and literal.recursive
        }
        decided = {one.place for one in thresholds.values() if one is not None}
        body: list[str] = []
        for place, literal in enumerate(rule.body):
            threshold = thresholds.get(place)
            if isinstance(literal, Aggregate) and threshold is not None:
                elements = self.elements(literal)
                bound = self.term(threshold.bound)
                body.append(f"#sum {elements} {threshold.operator} {bound}")
            elif place not in decided:
                body.extend(self.literal(literal))
        return self.atom(rule.head) + (f" :- {', '.join(body)}." if body else ".")

    def literal(self, literal: Literal) -> Iterator[str]:
        match literal:
            case Positive(atom):
                yield self.atom(atom)
            case Negative(atom):
                yield "not " + self.denied(atom)
            case Comparison():
                yield self.comparison(literal)
            case Aggregate():
                yield from self.aggregate(literal)

    def atom(self, atom: Atom) -> str:
        return _applied(atom.predicate, map(self.term, atom.terms))

    def denied(self, atom: Atom) -> str:
        """Write a variable that occurs nowhere else as ``_``: there is no such row at all."""
        terms = [
            "_" if isinstance(one, Variable) and self.uses[one.name] == 1 else self.term(one)
            for one in atom.terms
        ]
        return _applied(atom.predicate, terms)

    @property
    def uses(self) -> Counter[str]:
        names = Counter(v.name for term in self.rule.head.terms for v in term_variables(term))
        names.update(v.name for literal in self.rule.body for v in literal_variables(literal))
        return names

    def comparison(self, literal: Comparison) -> str:
        left, right = self.term(literal.left), self.term(literal.right)
        kind = self.kind(literal.left)
        if literal.operator in {"=", "!="} or kind in _INTEGERS:
            return f"{left} {literal.operator} {right}"
        if literal.operator not in {"<", "<=", ">", ">="}:
            raise OutOfScopeError(literal.operator)
        if kind in _FRACTIONS:
            return f"@order({left}, {right}) {literal.operator} 0"
        # clingo orders strings by length first; tuples of code points it orders as we do.
        return f"@key({left}) {literal.operator} @key({right})"

    def term(self, term: Term) -> str:
        match term:
            case Variable(name):
                return f"V_{name}"
            case Constant(value, kind):
                return _value(value, kind)
            case Apply(function, arguments) if self.kind(term) in _FRACTIONS:
                if function not in _FRACTIONAL or {*map(self.kind, arguments)} != {self.kind(term)}:
                    raise OutOfScopeError(function)
                return f'@compute("{function}", {", ".join(map(self.term, arguments))})'
            case Apply(function, (inner,)) if function in _PREFIXES:
                self.computed(term)
                return f"({_PREFIXES[function]}{self.term(inner)})"
            case Apply(function, (left, right)) if function in _NATIVE:
                self.computed(term)
                return f"({self.term(left)} {_NATIVE[function]} {self.term(right)})"
            case Apply(function, arguments):
                if function not in _CALLED:
                    raise OutOfScopeError(function)
                for one in (term, *arguments):
                    self.computed(one)
                return f"{_CALLED[function]}({', '.join(map(self.term, arguments))})"

    def kind(self, term: Term) -> Kind:
        found = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        assert found is not None
        return found

    def computed(self, term: Term) -> Kind:
        """Give the kind of a term that something is computed from."""
        kind = self.kind(term)
        if kind not in _INTEGERS | _TEXTS:
            raise OutOfScopeError(kind.value)
        return kind

    def elements(self, aggregate: Aggregate) -> str:
        """Write what a threshold adds up; a count adds ones."""
        body = ", ".join(part for inner in aggregate.body for part in self.literal(inner))
        names = dict.fromkeys(
            variable.name for inner in aggregate.body for variable in literal_variables(inner)
        )
        if aggregate.target is not None:
            self.computed(aggregate.target)
        target = "1" if aggregate.target is None else self.term(aggregate.target)
        rest = "".join(f", V_{name}" for name in names)
        return f"{{ {target}{rest} : {body} }}"

    def aggregate(self, aggregate: Aggregate) -> Iterator[str]:
        result, fresh = self.term(aggregate.result), f"A{self.rule.body.index(aggregate)}"
        body = ", ".join(part for inner in aggregate.body for part in self.literal(inner))
        # All variables: assignments count once each, equal values of different ones do too.
        names = dict.fromkeys(
            variable.name for inner in aggregate.body for variable in literal_variables(inner)
        )
        rest = "".join(f", V_{name}" for name in names)
        target = "0" if aggregate.target is None else self.term(aggregate.target)
        kind = None if aggregate.target is None else self.computed(aggregate.target)
        elements = f"{{ {target}{rest} : {body} }}"
        match aggregate.function:
            case "sum" | "count":
                yield f"{result} = #{aggregate.function} {elements}"
            case "mean":
                yield f"{fresh}s = #sum {elements}, {fresh}n = #count {elements}, {fresh}n > 0"
                yield f"{result} = @mean({fresh}s, {fresh}n)"
            case function:
                bound = {"min": "#sup", "max": "#inf"}[function]
                text = kind in _TEXTS
                weight = f"@key({target})" if text else target
                yield f"{fresh} = #{function} {{ {weight}{rest} : {body} }}, {fresh} != {bound}"
                yield f"{result} = " + (f"@unkey({fresh})" if text else fresh)
