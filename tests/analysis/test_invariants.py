"""What holds of every program that analysis lets through, and that it survives all others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from constat.analysis import PASSES, analyse
from constat.diagnostics import Diagnostic
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
    Variable,
    aggregate_kind,
    comparison,
    format_value,
    implementation,
    literal_variables,
    outer_names,
    parse_value,
    term_variables,
)
from constat.syntax import parse_text, print_program
from tests.analysis.programs import DECLARED, SOURCE, analysed

NAMES = ["?x", "?y", "?z", "_", "_w"]
TERMS = st.recursive(
    st.sampled_from([*NAMES, *NAMES, "1", "2.5", '"a"', '"2025-01-31"', '"true"', "3u"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(" ".join).map("({})".format),
        st.tuples(st.sampled_from(["to_string", "strlen", "year", "to_number"]), inner).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        ),
        st.tuples(inner, st.sampled_from(["Decimal", "Date", "CustomerId", "number"])).map(
            lambda pair: f"as({pair[0]}, {pair[1]})"
        ),
    ),
    max_leaves=3,
)
PLAIN = st.sampled_from([*NAMES, *NAMES, *NAMES, "1", '"a"'])
ARGUMENT = st.one_of(PLAIN, PLAIN, PLAIN, TERMS)
ATOMS = st.sampled_from(
    [("customer", 2), ("level", 2), ("order", 4), ("text", 1), ("number_of", 1), ("amount_of", 1)]
).flatmap(
    lambda one: st.lists(ARGUMENT, min_size=one[1], max_size=one[1]).map(
        lambda terms: f"{one[0]}({', '.join(terms)})"
    )
)
COMPARISONS = st.tuples(TERMS, st.sampled_from(["=", "=", "!=", "<", ">="]), TERMS).map(" ".join)
TESTS = st.one_of(ATOMS, ATOMS, ATOMS.map("!{}".format), COMPARISONS)
AGGREGATES = st.builds(
    "{} = {} : {{ {} }}".format,
    st.sampled_from(NAMES[:3]),
    st.sampled_from(["count", "sum ?z", "max ?y", "mean ?z", "min ?x", "sum (?z * 2)"]),
    st.lists(TESTS, min_size=1, max_size=2).map(", ".join),
)
BODIES = st.lists(st.one_of(TESTS, TESTS, AGGREGATES), min_size=1, max_size=4).map(", ".join)
RULES = st.builds("{} :- {}.".format, ATOMS, BODIES)

# Each variable has one meaning here, so most of these rules are right.
GENERATORS = ["customer(?c, ?s)", "level(?c, ?n)", "order(?o, ?c, ?a, ?d)", "tier(?c, ?t)"]
CHECKS = [
    *(
        "?n > 1",
        "?a * 2 + 1 > 3.5",
        '?d >= "2025-01-31"',
        "year(?d) = 2025",
        '?s != "x"',
        "?s = ?t",
    ),
    *("!level(?c, _)", "!tier(?c, ?s)", "!number_of(?n + 1)", "as(?n, Decimal) < ?a", "?n != ?m"),
    *("?m = ?n * 2", "?t = to_string(?n)", "?a = as(?n, Decimal) / 3", "?n = strlen(?s)"),
    *("?m = count : { tier(?c, _) }", "?a = sum ?v : { order(_o, ?c, ?v, _d), level(?c, ?n) }"),
    *("?n = max ?v : { level(_, ?v), ?v < 7 }", "?a = mean ?v : { order(_, ?c, ?v, _) }"),
]
HEADS = ["chosen(?c)", "number_of(?n)", "amount_of(?a)", "text(?s)", "number_of(?m + 1)"]
SENSIBLE = st.builds(
    "{} :- {}.".format,
    st.sampled_from(HEADS),
    st.tuples(
        st.lists(st.sampled_from(GENERATORS), min_size=1, max_size=3, unique=True),
        st.lists(st.sampled_from(CHECKS), max_size=2, unique=True),
    )
    .map(lambda pair: pair[0] + pair[1])
    .flatmap(st.permutations)
    .map(", ".join)
    .map(lambda body: body + ", "),
).map(lambda rule: named_once(rule.replace(", .", ".")))


def named_once(rule: str) -> str:
    """Give the variables that occur once a name that says so."""
    for letter in "csotnamd":
        if rule.count(f"?{letter}") == 1:
            rule = rule.replace(f"?{letter}", f"_{letter}")
    return rule


@settings(max_examples=120)
@given(st.lists(st.one_of(SENSIBLE, SENSIBLE, RULES), min_size=1, max_size=2))
def test_accepted_programs_are_typed_and_safe(rules: list[str]) -> None:
    diagnostics: list[Diagnostic] = []
    program = parse_text(DECLARED + "\n".join(rules), SOURCE, diagnostics)
    found = analyse(program, diagnostics)
    assert (found is None) == bool(diagnostics)
    if found is None:
        assert all(one.span is not None and one.note and one.help for one in diagnostics)
        return
    for rule, kinds in zip(found.rules, found.variable_kinds, strict=True):
        Typing(dict(kinds)).check_rule(rule)
        assert in_some_order(rule)
    again: list[Diagnostic] = []
    assert analyse(found.program, again) == found


def test_the_strategy_meets_accepted_programs() -> None:
    accepted = 0

    @settings(max_examples=200, database=None)
    @given(SENSIBLE)
    def count(rule: str) -> None:
        nonlocal accepted
        diagnostics: list[Diagnostic] = []
        program = parse_text(DECLARED + rule, SOURCE, diagnostics)
        accepted += analyse(program, diagnostics) is not None

    count()
    assert accepted > 40


class Typing:
    """A second, simpler look at the kinds: from the leaves up, nothing inferred."""

    def __init__(self, kinds: dict[str, Kind]) -> None:
        self.kinds = kinds
        self.columns = {
            name: predicate.kinds for name, predicate in analysed("").program.predicates.items()
        }

    def check_rule(self, rule: Rule) -> None:
        self.check_atom(rule.head)
        for literal in rule.body:
            self.check(literal)

    def check(self, literal: Literal) -> None:
        match literal:
            case Positive(atom) | Negative(atom):
                self.check_atom(atom)
            case Comparison(operator=operator, left=left, right=right):
                assert self.kind(left) is self.kind(right)
                comparison(operator, self.kind(left))
            case Aggregate(function=function, result=result, target=target, body=body):
                over = None if target is None else self.kind(target)
                assert self.kinds[result.name] is aggregate_kind(function, over)
                for inner in body:
                    self.check(inner)

    def check_atom(self, atom: Atom) -> None:
        assert tuple(map(self.kind, atom.terms)) == self.columns[atom.predicate]

    def kind(self, term: Term) -> Kind:
        match term:
            case Variable(name):
                return self.kinds[name]
            case Constant(value, kind):
                assert parse_value(format_value(value, kind), kind) == value
                assert type(parse_value(format_value(value, kind), kind)) is type(value)
                return kind
            case Apply(function, arguments, kind):
                assert kind is not None
                implementation(function, tuple(map(self.kind, arguments)), kind)
                return kind


def in_some_order(rule: Rule) -> bool:
    """Take literals that are ready until none is left, as a reader would."""
    outer = set(outer_names(rule))
    return taken(list(rule.body), set(), outer) and all(
        taken(list(one.body), outer, outer, inside=True)
        for one in rule.body
        if isinstance(one, Aggregate)
    )


def taken(left: list[Literal], bound: set[str], outer: set[str], *, inside: bool = False) -> bool:
    bound = set(bound)
    while left:
        ready = next((one for one in left if is_ready(one, bound, outer, inside=inside)), None)
        if ready is None:
            return False
        left.remove(ready)
        names = {variable.name for variable in literal_variables(ready)}
        match ready:
            case Negative():
                pass
            case Aggregate(result=result):
                bound.add(result.name)
            case _:
                bound |= names
    return True


def is_ready(literal: Literal, bound: set[str], outer: set[str], *, inside: bool) -> bool:
    names = {variable.name for variable in literal_variables(literal)}
    match literal:
        case Positive(atom):
            return all(
                variable.name in bound
                for term in atom.terms
                if isinstance(term, Apply)
                for variable in term_variables(term)
            )
        case Negative():
            return all(name in bound or (name[0] == "_" and not inside) for name in names)
        case Comparison("=", left, right):
            sides = (
                ({one.name for one in term_variables(left)}, right),
                (
                    {one.name for one in term_variables(right)},
                    left,
                ),
            )
            binds = any(known <= bound and isinstance(other, Variable) for known, other in sides)
            return binds or names <= bound
        case Comparison():
            return names <= bound
        case Aggregate(result=result):
            return (names & outer) - {result.name} <= bound


@given(st.lists(RULES, min_size=1, max_size=3))
def test_the_order_of_rules_does_not_matter(rules: list[str]) -> None:
    def codes(lines: list[str]) -> list[str]:
        diagnostics: list[Diagnostic] = []
        analyse(parse_text(DECLARED + "\n".join(lines), SOURCE, diagnostics), diagnostics)
        return sorted(one.code for one in diagnostics if one.code != "C0250")

    assert codes(rules) == codes(rules[::-1])


def test_a_program_that_is_printed_is_analysed_to_the_same() -> None:
    found = analysed(
        'amount_of(?x) :- order(_, ?y, ?x, ?d), ?d > "2025-01-31", level(?y, ?n), ?n > 1 + 2 * 3.\n'
        "float_of(0.1).\nfloat_of(2.5e300).\namount_of(3).\n"
    )
    diagnostics: list[Diagnostic] = []
    again = analyse(parse_text(print_program(found.program), SOURCE, diagnostics), diagnostics)
    assert diagnostics == []
    assert again == found


def test_the_passes_are_listed() -> None:
    names = [one.__name__ for one in PASSES]
    assert names[0] == "resolve_types"
    assert len(names) == len(set(names))
