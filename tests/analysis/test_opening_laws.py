"""Laws of opening: the rule means the same, is safe, and opening it again changes nothing."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from constat.analysis import PASSES, AnalysedProgram, analyse
from constat.analysis.analysed import Draft
from constat.analysis.destructuring import has_patterns, open_structures
from constat.diagnostics import Severity
from constat.logic import (
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    comparison,
    implementation,
    literal_variables,
    outer_names,
    term_variables,
)
from constat.logic.values import constructor_and_fields
from constat.syntax import Mode, parse_text, print_rule
from tests.analysis.programs import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.diagnostics import Diagnostic
    from constat.logic import Literal, Program, Value

DECLARED = """
.type List = [head: number, tail: List]
.type Expr = N { x: number } | A { l: Expr, r: Expr } | Z {}
.decl n(x: number)
.decl list(l: List)
.decl expr(e: Expr)
.decl both(l: List, e: Expr)
.decl out_n(x: number)
.decl out_list(l: List)
.decl out_expr(e: Expr)
.decl out_both(l: List, e: Expr)
"""
LISTS = ("nil", "[1, nil]", "[2, [1, nil]]", "[1, [1, nil]]")
EXPRS = ("$Z", "$N(1)", "$A($N(1), $Z)", "$A($Z, $Z)", "$A($N(2), $A($Z, $N(1)))")
FACTS: Mapping[str, frozenset[tuple[Value, ...]]] = {
    "n": frozenset({(1,), (2,)}),
    "list": frozenset((one,) for one in LISTS),
    "expr": frozenset((one,) for one in EXPRS),
    "both": frozenset(zip(LISTS, EXPRS, strict=False)),
}

BINDERS = {
    **{name: f"n(?{name})" for name in "xy"},
    **{name: f"list(?{name})" for name in "lm"},
    **{name: f"expr(?{name})" for name in "ef"},
}


def atoms(*wild: str) -> tuple[st.SearchStrategy[str], ...]:
    """Give atoms, lists and expressions with these names for any value."""
    numbers = st.sampled_from(["?x", "?y", "?x", "?y", "1", "2", "?x + 1", *wild])
    lists = st.recursive(
        st.sampled_from(["?l", "?m", "nil", *wild]),
        lambda inner: st.builds("[{}, {}]".format, numbers, inner),
        max_leaves=3,
    )
    trees = st.recursive(
        st.one_of(st.sampled_from(["?e", "?f", "$Z", *wild]), numbers.map("$N({})".format)),
        lambda inner: st.builds("$A({}, {})".format, inner, inner),
        max_leaves=3,
    )
    found = st.one_of(
        numbers.map("n({})".format),
        lists.map("list({})".format),
        trees.map("expr({})".format),
        st.builds("both({}, {})".format, lists, trees),
    )
    return found, lists, trees


FOUND, LISTED, GROWN = atoms("_")
GIVEN, LISTS_GIVEN, TREES_GIVEN = atoms()
EQUATIONS = st.one_of(
    st.builds("{} = {}".format, LISTS_GIVEN, LISTED),
    st.builds("{} = {}".format, GROWN, TREES_GIVEN),
    st.builds("{} != {}".format, LISTS_GIVEN, LISTS_GIVEN),
    st.builds("{} != {}".format, TREES_GIVEN, TREES_GIVEN),
)
LITERALS = st.one_of(FOUND, FOUND, EQUATIONS, EQUATIONS, GIVEN.map("!{}".format))
RULES = st.builds(
    "out_{} :- {}.".format, GIVEN, st.lists(LITERALS, min_size=1, max_size=4).map(", ".join)
)
UNBOUND = re.compile(r"variable `\?([a-z])`")


def program_of(rule: str) -> Program:
    """Give a program of one rule, with atoms behind it for what nothing binds."""
    for _ in BINDERS:
        _, diagnostics = read(rule)
        told = [UNBOUND.search(one.message) for one in diagnostics if one.code != "C0206"]
        missing = sorted({one[1] for one in told if one is not None})
        if not missing:
            break
        rule = ", ".join([rule.removesuffix("."), *(BINDERS[name] for name in missing)]) + "."
    program, diagnostics = read(rule)
    assume(not any(one.severity is Severity.ERROR for one in diagnostics))
    return program


def read(rule: str) -> tuple[Program, list[Diagnostic]]:
    diagnostics: list[Diagnostic] = []
    program = parse_text(DECLARED + rule, SOURCE, diagnostics)
    analyse(program, diagnostics, Mode.SOUFFLE)
    return program, diagnostics


def parsed(rule: str) -> Program:
    program, diagnostics = read(rule)
    assert not any(one.severity is Severity.ERROR for one in diagnostics)
    return program


def analysed(program: Program) -> AnalysedProgram:
    found = analyse(program, [], Mode.SOUFFLE)
    assume(found is not None)
    assert found is not None
    return found


def before_opening(program: Program) -> tuple[Rule, Mapping[str, Kind]]:
    draft = Draft(program, [], mode=Mode.SOUFFLE)
    for run in PASSES[: PASSES.index(open_structures)]:
        run(draft)
    return draft.rules[0], draft.variable_kinds[0]


# ------------------------------------------------------------------------------------- meaning


def parts(structure: str) -> Iterator[str]:
    yield structure
    for one in constructor_and_fields(structure)[1]:
        if one[0] in "[$" or one == "nil":
            yield from parts(one)


def values_in(rule: Rule) -> Iterator[str]:
    terms: list[Term] = [*rule.head.terms]
    for literal in rule.body:
        match literal:
            case Positive(atom) | Negative(atom):
                terms.extend(atom.terms)
            case Comparison(left=left, right=right):
                terms.extend((left, right))
    while terms:
        match terms.pop():
            case Constant(value=str(value), kind=Kind.STRUCTURE):
                yield value
            case Apply(arguments=arguments):
                terms.extend(arguments)


class Meaning:
    """What a rule derives: any assignment counts under which all literals hold."""

    def __init__(self, rule: Rule, kinds: Mapping[str, Kind], known: frozenset[str]) -> None:
        self.rule = rule
        self.kinds = kinds
        self.structures = sorted(known)
        names: dict[str, None] = {}
        for literal in rule.body:
            names.update(dict.fromkeys(one.name for one in literal_variables(literal)))
        self.names = [*names]
        # Each literal is looked at as soon as its last variable has a value.
        self.due: dict[str, list[Literal]] = {}
        self.ground: list[Literal] = []
        for literal in rule.body:
            mine = {one.name for one in literal_variables(literal)}
            last = next((name for name in reversed(self.names) if name in mine), None)
            (self.ground if last is None else self.due.setdefault(last, [])).append(literal)

    def rows(self) -> frozenset[tuple[Value, ...]]:
        if not all(self.holds(one, {}) for one in self.ground):
            return frozenset()
        return frozenset(self.extend({}, 0))

    def extend(self, values: dict[str, Value], place: int) -> Iterator[tuple[Value, ...]]:
        if place == len(self.names):
            yield tuple(self.value(term, values) for term in self.rule.head.terms)
            return
        name = self.names[place]
        domain = (0, 1, 2, 3) if self.kinds[name] is Kind.NUMBER else self.structures
        for value in domain:
            values[name] = value
            if all(self.holds(one, values) for one in self.due.get(name, ())):
                yield from self.extend(values, place + 1)
        del values[name]

    def holds(self, literal: Literal, values: Mapping[str, Value]) -> bool:
        match literal:
            case Positive(atom):
                return self.row(atom, values) in FACTS[atom.predicate]
            case Negative(atom):
                return self.row(atom, values) not in FACTS[atom.predicate]
            case Comparison(operator=operator, left=left, right=right):
                kind = self.kind(left)
                return comparison(operator, kind)(
                    self.value(left, values), self.value(right, values)
                )
            case _:
                raise TypeError(literal)

    def row(self, atom: Atom, values: Mapping[str, Value]) -> tuple[Value, ...]:
        return tuple(self.value(term, values) for term in atom.terms)

    def value(self, term: Term, values: Mapping[str, Value]) -> Value:
        match term:
            case Variable(name):
                return values[name]
            case Constant(value=value):
                return value
            case Apply(function=function, arguments=arguments, kind=kind):
                assert kind is not None
                compute = implementation(function, tuple(map(self.kind, arguments)), kind)
                return compute(*(self.value(one, values) for one in arguments))

    def kind(self, term: Term) -> Kind:
        found = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        assert found is not None
        return found


def free(rule: Rule) -> bool:
    """Whether a denied atom leaves a column out: that is another meaning of a variable."""
    return any(
        isinstance(term, Variable) and term.name[0] == "_"
        for literal in rule.body
        if isinstance(literal, Negative)
        for term in literal.atom.terms
    )


@pytest.mark.laws
@given(RULES)
@settings(max_examples=150, deadline=None)
def test_an_opened_rule_derives_what_the_rule_as_written_does(rule: str) -> None:
    program = program_of(rule)
    opened = analysed(program)
    written, kinds = before_opening(program)
    assume(not free(written))
    told = chain(LISTS, EXPRS, values_in(written))
    known = frozenset(part for one in told for part in parts(one))
    expected = Meaning(written, kinds, known).rows()
    assert Meaning(opened.rules[0], opened.variable_kinds[0], known).rows() == expected


# ---------------------------------------------------------------------------------- what it is


@pytest.mark.laws
@given(RULES)
@settings(max_examples=150, deadline=None)
def test_opening_a_rule_again_changes_nothing(rule: str) -> None:
    once = analysed(program_of(rule))
    again = analysed(once.program)
    assert again.rules == once.rules
    assert again.variable_kinds == once.variable_kinds


@pytest.mark.laws
@given(RULES)
@settings(max_examples=150, deadline=None)
def test_an_opened_rule_is_printed_as_text_that_opens_alike(rule: str) -> None:
    once = analysed(program_of(rule))
    again = analysed(parsed(print_rule(once.rules[0])))
    assert again.rules[0].head == once.rules[0].head
    assert print_rule(again.rules[0]) == print_rule(once.rules[0])


@given(RULES)
@settings(max_examples=150, deadline=None)
def test_opened_rules_are_safe_and_their_kinds_known(rule: str) -> None:
    found = analysed(program_of(rule))
    opened = found.rules[0]
    assert unbound(opened) == set()
    for name in outer_names(opened):
        assert name in found.variable_kinds[0]
    assert has_patterns(opened) is any(makes(one) for one in opened.body)


def makes(literal: Literal) -> bool:
    """Whether an equation makes a structure; atoms have none left."""
    if isinstance(literal, Positive):
        assert not any(
            isinstance(one, Apply) and one.kind is Kind.STRUCTURE for one in literal.atom.terms
        )
    return (
        isinstance(literal, Comparison)
        and literal.operator == "="
        and any(
            isinstance(one, Apply) and one.function[0] in "[$"
            for one in (literal.left, literal.right)
        )
    )


def unbound(rule: Rule) -> set[str]:
    """Give the variables that nothing binds, in the words of the certificate format."""
    bound: set[str] = set()
    equations: list[tuple[Term, Term]] = []
    for literal in rule.body:
        if isinstance(literal, Positive):
            bound.update(one.name for one in literal.atom.terms if isinstance(one, Variable))
        elif isinstance(literal, Comparison) and literal.operator == "=":
            equations += [(literal.left, literal.right), (literal.right, literal.left)]
    for _ in equations:
        for one, other in equations:
            if isinstance(one, Variable) and names(other) <= bound:
                bound.add(one.name)
    denied = {
        term.name
        for literal in rule.body
        if isinstance(literal, Negative)
        for term in literal.atom.terms
        if isinstance(term, Variable) and term.name[0] == "_"
    }
    return set(outer_names(rule)) - bound - denied


def names(term: Term) -> set[str]:
    return {one.name for one in term_variables(term)}
